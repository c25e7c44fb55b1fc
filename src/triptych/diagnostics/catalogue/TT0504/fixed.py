import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return x


tt.compile(f, 1, target="cpu")
