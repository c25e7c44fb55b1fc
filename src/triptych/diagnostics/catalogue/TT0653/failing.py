import triptych as tt
from triptych import cute
from triptych.utils import TmemAllocator


@tt.kernel
def kernel():
    columns = TmemAllocator(cute.SmemAllocator().allocate_array(tt.Int32, 1))
    columns.allocate(64)
    columns.wait_for_alloc()
    place = columns.retrieve_ptr(tt.Float32)
    columns.free(place)
    columns.free(place)


@tt.jit
def f():
    kernel().launch(grid=1, block=128)


f()
