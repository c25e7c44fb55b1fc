import triptych as tt
from triptych import cute


@tt.jit
def copy():
    source = cute.make_rmem_tensor((4, 2), tt.Float32)
    target = cute.make_rmem_tensor((2, 4), tt.Float32)
    source.fill(0.0)
    target.store(source.load())  # error: TT0904 at "target"


copy()
