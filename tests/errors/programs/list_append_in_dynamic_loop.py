import triptych as tt


@tt.jit
def collect(n: tt.Int32):
    seen = []
    for i in range(n):
        seen.append(i)  # error: TT0205 at "seen.append(i)"
    return len(seen)


collect(3)
