import triptych as tt
from triptych import cute


@tt.jit
def f(x: tt.Float32):
    if cute.all_(cute.full(4, 1.0, tt.Float32) > x):
        return 1
    return 0


f(0.5)
