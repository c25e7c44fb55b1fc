"""A GPU made of NumPy: it runs the PTX of kernels, so that what they compute, and what they cost, is known without one.

Each instruction does what NVIDIA's manual of the PTX instruction set says, for all threads of a block at once. Nothing
of the compiler is imported here: a machine that judges the compiler must not share its mistakes (decision 0011).
"""
