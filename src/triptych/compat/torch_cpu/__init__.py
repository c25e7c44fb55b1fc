"""PyTorch on the CPU in the place of CUDA: what programs put on "cuda" is where kernels of the CPU target run.

Only `compat.torch_on_cpu` imports these files, when PyTorch is there and a program for GPUs is to run.
"""
