import triptych as tt


@tt.jit
def f(n: tt.Int32):
    seen = []
    for i in range(n):
        seen.append(i)
    return len(seen)


f(3)
