import triptych as tt


@tt.jit
def name(n: tt.Int32):
    match n:  # error: TT0207 at "n"
        case 0:
            return 10
        case _:
            return 20


name(3)
