import triptych as tt


@tt.jit
def show(x: tt.Int32, y: tt.Int32):
    tt.printf("{} {}", x)  # error: TT0303 at "tt.printf"


show(1, 2)
