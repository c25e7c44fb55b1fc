import triptych as tt
from triptych import cute


@tt.kernel
def fill(n: tt.Int32):
    allocator = cute.SmemAllocator()
    allocator.allocate_array(tt.Float32, 40_000)
    allocator.allocate_tensor(tt.Float16, cute.make_layout((256, 256)))


@tt.jit
def host(n: tt.Int32):
    fill(n).launch(grid=1, block=32)  # error: TT0620 at "fill(n).launch"


host(4)
