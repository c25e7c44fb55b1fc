"""What kernels are written with beside the language itself, under the name that public programs import."""

from __future__ import annotations

from triptych.cute.latex_pictures import print_latex, print_latex_tv
from triptych.cute.shared_memory import SmemAllocator

__all__ = ["SmemAllocator", "print_latex", "print_latex_tv"]
