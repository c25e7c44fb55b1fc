import triptych as tt


@tt.jit
def show(x: tt.Float32):
    tt.printf("x = %d\n", x)  # error: TT0303 at "tt.printf"


show(1.5)
