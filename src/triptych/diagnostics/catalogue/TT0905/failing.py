import triptych as tt
from triptych import cute


@tt.jit
def f(address: tt.Int64):
    bytes = cute.make_ptr(tt.Int4, address, cute.AddressSpace.gmem)
    packed = cute.make_tensor(bytes, cute.make_layout((8,)))
    packed[0] = 1


f(0)
