import triptych as tt


@tt.jit
def pick(i: tt.Int32, x: tt.Float32):
    return [i, x][i]  # error: TT0301 at "[i, x][i]"


pick(0, 1.0)
