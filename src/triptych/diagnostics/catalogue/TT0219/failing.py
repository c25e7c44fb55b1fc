import triptych as tt
from triptych.support.config import override


@tt.jit
def f(x: tt.Int32):
    for i in tt.range_constexpr(10_000_000):
        x = x * 3 + i
    return x


with override(trace_limit=10_000):  # a million, if nothing else is said
    f(1)
