import triptych as tt


@tt.jit
def f(n: tt.Int32):
    total = 0.0
    for _ in range(n):
        total = total + 0.5
    return total


f(3)
