import triptych as tt
from triptych import cute


@tt.jit
def f():
    source = cute.make_rmem_tensor((4, 2), tt.Float32)
    target = cute.make_rmem_tensor((4, 4), tt.Float32)
    source.fill(0.0)
    target.store(source.load())


f()
