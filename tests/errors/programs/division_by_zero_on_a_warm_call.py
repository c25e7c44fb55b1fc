import triptych as tt


@tt.jit
def share(total: tt.Int32, people: tt.Int32):
    return total // people  # error: TT0604 at "total // people"


for people in (2, 1, 0):
    share(10, people)
