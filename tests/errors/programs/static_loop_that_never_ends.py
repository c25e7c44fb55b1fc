import triptych as tt


@tt.jit
def wait(n: tt.Int32):
    tries = 0
    while tries >= 0:  # error: TT0207 at "tries >= 0"
        tries += 1
    return n


wait(3)
