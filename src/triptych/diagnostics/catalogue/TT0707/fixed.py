from triptych import compat

with compat.activated():
    try:
        from cutlass.cute.nvgpu.cpasync import CopyBulkTensorTileG2SNonExecTrait
    except ImportError:
        CopyBulkTensorTileG2SNonExecTrait = None
