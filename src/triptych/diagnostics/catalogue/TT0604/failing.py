import triptych as tt


@tt.jit
def share(total: tt.Int32, people: tt.Int32):
    return total // people


share(10, 0)
