import triptych as tt


@tt.jit
def double(n: tt.Int32):
    return n + n


tt.compile_many([double])
