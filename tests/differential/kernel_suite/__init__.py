"""Kernels as users write them, each with a NumPy or float64 reference, over random sizes, blocks, grids and layouts."""
