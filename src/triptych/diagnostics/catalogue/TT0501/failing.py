import triptych as tt


@tt.jit
def f(x: tt.Int128):
    return x


f(1)  # the CPU entry point has no 128-bit integers
