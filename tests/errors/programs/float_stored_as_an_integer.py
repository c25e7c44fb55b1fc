import triptych as tt
from triptych import cute


@tt.jit
def count(x: tt.Float32):
    counts = cute.make_rmem_tensor((4,), tt.Int32)
    counts[0] = x  # error: TT0903 at "counts"


count(1.5)
