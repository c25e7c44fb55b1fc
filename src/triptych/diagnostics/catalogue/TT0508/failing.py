from triptych.ir.llvm.bridge import WRITTEN_BY, check_version

# pip install 'torch-mlir>=20270101'
check_version(WRITTEN_BY + 1)  # the LLVM inside writes a text that the older one of llvmlite need not read
