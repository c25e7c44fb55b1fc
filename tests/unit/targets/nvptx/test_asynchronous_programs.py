"""Asynchronous programs as PTX: the instructions that order threads, copies and products, in their order.

The texts beside this file are what a person would look for: no wait, fence or arrival that the program does not have,
and none missing. Names of registers and arithmetic are left out, which change with every LLVM.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.golden import Golden
from tests.support import tiny_gemm, wrong_clusters, wrong_pipelines, wrong_products
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.cute.runtime import from_dlpack

pytestmark = needs_assembler
TEXTS = Path(__file__).parent / "asynchronous_programs"
ORDERING = re.compile(
    r"\s(?:@!?%p\d+ )?((?:mbarrier|cp\.async|cp\.reduce|wgmma|fence|barrier|bar|elect|setmaxnreg|mapa|griddepcontrol|"
    r"prefetch\.tensormap|stmatrix|st\.async|ld\.shared::cluster|@\w+)[\w.:]*)"
)


def tensor(*shape: int, dtype: Any = np.float32) -> Any:
    return from_dlpack(np.zeros(shape, dtype), assumed_align=16)


def copies() -> tuple[Any, ...]:
    rows = wrong_pipelines.TILES * wrong_pipelines.ROWS
    return wrong_pipelines.run, tensor(rows, wrong_pipelines.COLUMNS), tensor(rows, wrong_pipelines.COLUMNS), ""


def blocks() -> tuple[Any, ...]:
    rows = wrong_clusters.TILES * wrong_clusters.ROWS
    target = tensor(wrong_clusters.BLOCKS, rows, wrong_clusters.COLUMNS)
    return wrong_clusters.run, tensor(rows, wrong_clusters.COLUMNS), target, ""


def neighbours() -> tuple[Any, ...]:
    return wrong_products.run_cluster, tensor(2, 32, dtype=np.int32), ""


def product() -> tuple[Any, ...]:
    side = wrong_products.SIDE
    mma, layout = wrong_products.product_and_layout()
    return wrong_products.run, tensor(side, side, dtype=np.float16), tensor(side, side), mma, layout, ""


def gemm(m: int, n: int) -> tuple[Any, ...]:
    a, b = tensor(64 * m, 64, dtype=np.float16), tensor(16 * n, 64, dtype=np.float16)
    return tiny_gemm.tiny_gemm, a, b, tensor(64 * m, 16 * n), tt.Float32, 2, (m, n)


PROGRAMS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "copies": copies,
    "blocks": blocks,
    "neighbours": neighbours,
    "product": product,
    "gemm": lambda: gemm(1, 1),
    "gemm_of_a_cluster": lambda: gemm(2, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_orders_a_program(name: str, golden: Golden) -> None:
    function, *arguments = PROGRAMS[name]()
    ptx = tt.compile(function, *arguments, target="nvptx:sm_90a").__ptx__
    golden.check(TEXTS / f"{name}.txt", "\n".join(ORDERING.findall(ptx)) + "\n")
