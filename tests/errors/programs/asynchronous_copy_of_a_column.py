import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync


@tt.kernel
def fill(source: cute.Pointer):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=128)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4,), 16)
    column = cute.make_tensor(source, cute.make_layout((4,), stride=(32,)))
    cute.copy(atom, column, shared)  # error: TT0944 at "cute.copy"


@tt.jit
def launch(address: tt.Int64):
    fill(cute.make_ptr(tt.Float32, address, cute.AddressSpace.gmem, assumed_align=16)).launch(grid=1, block=32)


launch(0)
