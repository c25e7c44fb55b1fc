import triptych as tt


@tt.kernel
def fill(n: tt.Int32):
    pass


@tt.jit
def host(n: tt.Int32):
    fill(n).launch(grid=1, blocks=32)  # error: TT0401 at "fill(n).launch"


host(4)
