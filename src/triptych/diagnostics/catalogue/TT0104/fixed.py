import triptych as tt


@tt.jit
def f(x: tt.Int32):
    found = x
    for n in range(1, 61):
        if not (x > n and x > 2 * n and x > 3 * n):
            found = n
    return found


f(3)
