import triptych as tt


@tt.jit
def f(n: tt.Int32):
    seen = 0
    for _ in range(n):
        seen += 1
    return seen


f(3)
