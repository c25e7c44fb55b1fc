import triptych as tt
from triptych.support.config import override


@tt.jit
def powers(x: tt.Int32):
    for i in tt.range_constexpr(1_000_000):  # error: TT0219 at "tt.range_constexpr"
        x = x * 3 + i
    return x


with override(trace_limit=10_000):
    powers(1)
