from triptych import compat

with compat.activated():
    from cutlass.cute.nvgpu.cpasync import CopyBulkTensorTileG2SNonExecTrait  # error: TT0707 at "from cutlass"
