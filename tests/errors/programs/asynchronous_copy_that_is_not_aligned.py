import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync


@tt.kernel
def fill(source: cute.Pointer):
    thread, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=128)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4, 32), 16)
    rows = cute.make_tensor(source, (4, 32))
    cute.copy(atom, rows[None, thread], shared[None, thread])  # error: TT0943 at "cute.copy"


@tt.jit
def launch(address: tt.Int64):
    fill(cute.make_ptr(tt.Float32, address, cute.AddressSpace.gmem)).launch(grid=1, block=32)


launch(0)
