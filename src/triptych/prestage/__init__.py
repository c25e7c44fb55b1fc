"""Pre-stage: Python AST in, Python AST out. Control flow of a function becomes calls of hooks; MLIR is never seen."""
