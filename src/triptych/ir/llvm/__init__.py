"""LLVM: the bridge from MLIR, workers that compile, and our linker and loader of object files."""
