import triptych as tt


@tt.jit
def smallest(a: tt.Int32, b: tt.Int32):
    return sorted([a, b])[0]  # error: TT0207 at "sorted"


smallest(2, 1)
