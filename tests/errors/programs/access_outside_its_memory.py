import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.jit
def read(i: tt.Int32):
    row = cute.make_rmem_tensor((4, 8), tt.Float32)
    row.fill(0.0)
    return row[i, 7]  # error: TT0610 at "row"


with override(debug="bounds"):
    read(4)
