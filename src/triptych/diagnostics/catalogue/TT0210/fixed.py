import triptych as tt


@tt.jit
def f(n: tt.Int32):
    if n < 0:
        tt.printf("negative")
    return n


f(3)
