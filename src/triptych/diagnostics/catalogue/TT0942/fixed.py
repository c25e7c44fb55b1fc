import triptych as tt
from triptych import cute


@tt.kernel
def k():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tt.Float32, num_bits_per_copy=128)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, (4,), 16)
    cute.copy(atom, cute.make_rmem_tensor((4,), tt.Float32), shared)


@tt.jit
def f():
    k().launch(grid=1, block=32)


f()
