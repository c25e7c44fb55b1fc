import triptych as tt


@tt.jit
def pick(i: tt.Int32):
    return [10, 20, 30][i]


pick(2)
