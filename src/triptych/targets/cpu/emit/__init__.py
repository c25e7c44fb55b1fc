"""Kernels on the CPU: a warp is a vector, a block is a loop over warps between barriers."""
