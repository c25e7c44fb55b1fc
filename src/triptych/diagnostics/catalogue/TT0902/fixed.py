import triptych as tt
from triptych import cute


@tt.jit
def f(n: tt.Constexpr):
    row = cute.make_rmem_tensor((n,), tt.Float32)
    row.fill(0.0)


f(8)
