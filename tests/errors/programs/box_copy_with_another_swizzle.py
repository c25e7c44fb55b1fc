import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync

ROWS = cute.make_layout((8, 64), stride=(64, 1))


@tt.kernel
def store(atom: cute.CopyAtom, tensor: cute.Tensor):
    shared = cute.SmemAllocator().allocate_tensor(tt.Float16, ROWS, 1024)
    tile = cute.local_tile(tensor, (8, 64), (0, 0))
    here, there = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), cute.group_modes(tile, 0, 2)
    )
    cute.copy(atom, here, there)  # error: TT0946 at "cute.copy"


@tt.jit
def launch(address: tt.Int64):
    pointer = cute.make_ptr(tt.Float16, address, cute.AddressSpace.gmem, assumed_align=16)
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, ROWS)
    atom, tensor = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), cute.make_tensor(pointer, ROWS), swizzled, (8, 64)
    )
    store(atom, tensor).launch(grid=0, block=32)


launch(0)
