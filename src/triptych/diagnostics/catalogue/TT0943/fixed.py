import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync


@tt.kernel
def k(source: cute.Pointer):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=128)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4,), 16)
    cute.copy(atom, cute.make_tensor(source, (4,)), shared)


@tt.jit
def f(address: tt.Int64):
    k(cute.make_ptr(tt.Float32, address, cute.AddressSpace.gmem, assumed_align=16)).launch(grid=0, block=32)


f(0)
