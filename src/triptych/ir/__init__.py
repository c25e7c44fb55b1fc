"""The only package that touches MLIR and LLVM: bindings, contexts, locations, passes, the LLVM bridge and workers.

Nothing is imported here, so `import triptych.ir` costs nothing until a module of it is used.
"""
