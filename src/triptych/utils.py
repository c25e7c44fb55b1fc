"""`triptych.cute.utils` under its shorter name, which public programs import."""

from __future__ import annotations

from triptych.cute.utils import SmemAllocator, print_latex, print_latex_tv

__all__ = ["SmemAllocator", "print_latex", "print_latex_tv"]
