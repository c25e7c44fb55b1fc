import triptych as tt


@tt.jit
def wait():
    tries = 0
    while True:  # error: TT0207 at "True"
        tries += 1


wait()
