import triptych as tt
from triptych import cute


@tt.jit
def f(x: tt.Float32):
    return cute.math.add(x, 0.1, rounding=cute.math.RoundingMode.UP)


f(1.0)
