from triptych.ir.llvm.bridge import WRITTEN_BY, check_version

# pip install 'torch-mlir>=20261001,<20270101'
check_version(WRITTEN_BY)
