import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync


@tt.jit
def f(address: tt.Int64):
    pointer = cute.make_ptr(tt.Float16, address, cute.AddressSpace.gmem, assumed_align=16)
    columns = cute.make_tensor(pointer, cute.make_layout((64, 64), stride=(1, 64)))
    rows = cute.make_layout((64, 64), stride=(64, 1))
    cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), columns, rows, (64, 64))


f(0)
