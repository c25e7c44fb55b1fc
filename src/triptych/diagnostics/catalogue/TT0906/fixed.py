import triptych as tt
from triptych import cute


@tt.jit
def f():
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.iterator.align(4)


f()
