import triptych as tt
from triptych import cute


@tt.jit
def f():
    packed = cute.make_rmem_tensor((8,), tt.Int4)
    packed[0] = 1


f()
