"""A GPU made of NumPy for tests: it runs the PTX of our kernels, so that what they compute is known without a GPU.

Each instruction does what NVIDIA's manual of the PTX instruction set says, for all threads of a block at once.
"""
