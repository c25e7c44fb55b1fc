import triptych as tt
from triptych import cute


@tt.jit
def write(address: tt.Int64):
    pointer = cute.make_ptr(tt.Float4E2M1FN, address, cute.AddressSpace.gmem)
    packed = cute.make_tensor(pointer, cute.make_layout((8,)))
    packed[3] = 1.0  # error: TT0905 at "packed"


write(0)
