import triptych as tt
from triptych.support.config import override


@tt.jit
def double(n: tt.Int32):
    return n + n


with override(sealed=True, cache=False):
    double(3)
