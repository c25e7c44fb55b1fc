import triptych as tt


@tt.jit
def count(n: tt.Int32, step: tt.Int32):
    total = 0
    for _ in range(0, n, step):
        total += 1
    return total


count(10, 2)
