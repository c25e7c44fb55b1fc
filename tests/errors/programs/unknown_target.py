import triptych as tt


@tt.jit
def same(n: tt.Int32):
    return n


tt.compile(same, 1, target="cpuu")  # error: TT0504 at "tt.compile"
