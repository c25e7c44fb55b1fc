import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.jit
def read(address: tt.Int64):
    row = cute.make_tensor(cute.make_ptr(tt.Float32, address), cute.make_layout((4,)))
    return row[0]  # error: TT0612 at "row"


with override(debug="bounds"):
    read(0)
