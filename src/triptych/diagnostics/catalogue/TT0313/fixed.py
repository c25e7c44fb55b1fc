import triptych as tt
from triptych import cute


@tt.jit
def f(x: tt.Float32):
    return cute.math.sin(x)


f(1.0)
