import triptych as tt
from triptych import cute


@tt.jit
def total():
    left, right = cute.full((4, 3), 1.0, tt.Float32), cute.full((4, 2), 1.0, tt.Float32)
    return (left + right)[0]  # error: TT0904 at "left + right"


total()
