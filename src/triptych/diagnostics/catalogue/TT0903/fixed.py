import triptych as tt
from triptych import cute


@tt.jit
def f(x: tt.Float32):
    counts = cute.make_rmem_tensor((4,), tt.Int32)
    counts[0] = x.to(tt.Int32)


f(1.5)
