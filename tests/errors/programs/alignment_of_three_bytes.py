import triptych as tt
from triptych import cute


@tt.jit
def align():
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.iterator.align(3)  # error: TT0906 at "row"


align()
