"""Utilities of kernels beside the language itself, under the name that public programs import."""

from __future__ import annotations

from triptych.cute.memory.shared_window import get_smem_capacity_in_bytes
from triptych.cute.runtime.element_conversion import create_cute_tensor_for_fp8, is_fp8_dtype
from triptych.cute.tensors.layout_orders import LayoutEnum
from triptych.cute.tensors.shared_memory import SmemAllocator, SmemPartition
from triptych.cute.tensors.tensor_memory import TmemAllocator, get_num_tmem_alloc_cols
from triptych.layout import AnyLayout, IntTuple, Layout, ProfileError, draw_latex, index_grid, text, thread_value_grid
from triptych.layout.picture import Grid

# Pictures of layouts as LaTeX documents, printed while tracing or from plain Python: `> picture.tex`, `pdflatex`.


def print_latex(layout: AnyLayout) -> None:
    """Print a picture of a layout that is known now: each coordinate with its index."""
    _print_document(index_grid(layout))


def print_latex_tv(layout_tv: Layout, tiler_mn: IntTuple) -> None:
    """Print a picture of a tile: which thread holds each element, and as which of its values."""
    if isinstance(tiler_mn, tuple) and len(tiler_mn) == 2:
        rows, columns = tiler_mn
        if isinstance(rows, int) and isinstance(columns, int):
            _print_document(thread_value_grid(layout_tv, (rows, columns)))
            return
    raise ProfileError("a picture has rows and columns that are known now", found=f"the tile {text(tiler_mn)}")


def _print_document(grid: Grid) -> None:
    print(r"\documentclass[border=2pt]{standalone}")
    print(r"\usepackage{tikz}")
    print(r"\begin{document}")
    print(draw_latex(grid))
    print(r"\end{document}")


__all__ = [
    "LayoutEnum",
    "SmemAllocator",
    "SmemPartition",
    "TmemAllocator",
    "create_cute_tensor_for_fp8",
    "get_num_tmem_alloc_cols",
    "get_smem_capacity_in_bytes",
    "is_fp8_dtype",
    "print_latex",
    "print_latex_tv",
]


def __dir__() -> list[str]:
    return __all__
