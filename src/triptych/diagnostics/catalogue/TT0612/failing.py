import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.jit
def f(address: tt.Int64):
    return cute.make_tensor(cute.make_ptr(tt.Float32, address), cute.make_layout((4,)))[0]


with override(debug="bounds"):
    f(0)
