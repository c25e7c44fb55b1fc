"""MLIR and LLVM, which no other package touches: bindings, contexts, locations, passes, the LLVM bridge and workers.

Nothing is imported here, so `import triptych.ir` costs nothing until a module of it is used.
"""
