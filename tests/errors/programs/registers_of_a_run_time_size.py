import triptych as tt
from triptych import cute


@tt.jit
def zeros(n: tt.Int32):
    row = cute.make_rmem_tensor((n,), tt.Float32)  # error: TT0902 at "cute"
    row.fill(0.0)


zeros(8)
