import triptych as tt


@tt.jit
def same(n: tt.Int32):
    return n


print(tt.compile(same, 1, target="cpu").__ptx__)  # error: TT0507 at "tt.compile"
