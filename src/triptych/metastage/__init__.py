"""Tracing, the meta-stage: the Python interpreter runs the rewritten program once; what is dynamic becomes MLIR."""
