from triptych import compat

with compat.activated():
    from cutlass.cute.nvgpu.cpasync import CopyBulkTensorTileG2SNonExecTrait

    print(CopyBulkTensorTileG2SNonExecTrait)
