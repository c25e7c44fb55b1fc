import triptych as tt

TABLE = {0: 10, 1: 20}


@tt.jit
def look_up(n: tt.Int32):
    return TABLE[n]  # error: TT0207 at "TABLE[n]"


look_up(1)
