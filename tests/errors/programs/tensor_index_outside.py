import triptych as tt
from triptych import cute


@tt.jit
def last():
    row = cute.make_rmem_tensor((4, 8), tt.Float32)
    row[4, 0] = 1.0  # error: TT0901 at "row"


last()
