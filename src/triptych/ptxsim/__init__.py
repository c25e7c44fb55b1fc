"""PTX simulator on NumPy: it runs the PTX of kernels, so that results and costs are known without a GPU.

Each instruction does what NVIDIA's manual of the PTX instruction set says, for all threads of a block at once. Nothing
of the compiler is imported here: a machine that judges the compiler must not share its mistakes (decision 0011).
"""
