import triptych as tt


@tt.jit
def share(total: tt.Int32, people: tt.Int32):
    try:  # error: TT0101 at "try"
        return total // people
    except ZeroDivisionError:
        return 0


share(10, 2)
