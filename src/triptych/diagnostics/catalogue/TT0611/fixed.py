import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.jit
def f(i: tt.Int32):
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.fill(0.0)
    part = (row.iterator + i).align(16)
    return cute.make_tensor(part, cute.make_layout((4,)))[0]


with override(debug="bounds"):
    f(4)
