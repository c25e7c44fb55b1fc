import triptych as tt


@tt.jit
def share(total: tt.Int32, people: tt.Int32):
    return total // people if people != 0 else total


share(10, 0)
