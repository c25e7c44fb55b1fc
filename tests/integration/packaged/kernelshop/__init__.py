"""A package of kernels as somebody would ship one: several modules, helpers, classes; `test_packaged_kernels` installs it."""

from kernelshop.kernels import clamped

__all__ = ["clamped"]
