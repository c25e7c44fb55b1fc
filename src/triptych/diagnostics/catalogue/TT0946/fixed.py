import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync


@tt.kernel
def k(atom: cute.CopyAtom, tensor: cute.Tensor):
    shared = cute.SmemAllocator().allocate_tensor(tt.Float16, cute.make_layout((64, 64), stride=(64, 1)), 128)
    tile = cute.local_tile(tensor, (64, 64), (0, 0))
    here, there = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), cute.group_modes(tile, 0, 2)
    )
    cute.copy(atom, here, there)


@tt.jit
def f(address: tt.Int64):
    pointer = cute.make_ptr(tt.Float16, address, cute.AddressSpace.gmem, assumed_align=16)
    rows = cute.make_layout((64, 64), stride=(64, 1))
    atom, tensor = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), cute.make_tensor(pointer, rows), rows, (64, 64)
    )
    k(atom, tensor).launch(grid=0, block=32)


f(0)
