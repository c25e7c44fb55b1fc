import triptych as tt


@tt.kernel
def fill(n: tt.Int32):
    pass


@tt.jit
def host(n: tt.Int32):
    fill(n).launch(grid=1, block=2000)  # error: TT0620 at "fill(n).launch"


host(4)
