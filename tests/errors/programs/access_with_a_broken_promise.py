import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.jit
def read(i: tt.Int32):
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.fill(0.0)
    part = cute.make_tensor((row.iterator + i).align(16), cute.make_layout((4,)))
    return part[0]  # error: TT0611 at "part"


with override(debug="bounds"):
    read(1)
