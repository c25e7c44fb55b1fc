import triptych as tt


@tt.jit
def count(n: tt.Int32, step: tt.Int32):
    result = 0
    for i in range(0, n, step):  # error: TT0608 at "range(0, n, step)"
        result += 1
    return result


count(10, 0)
