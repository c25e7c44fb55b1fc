import triptych as tt


def share(total, people):
    return total // people  # error: TT0604 at "total // people"


@tt.jit
def shares(total: tt.Int32, people: tt.Int32):
    return share(total, people) + 1


shares(10, 0)
