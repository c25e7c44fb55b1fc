"""Kernels of the Blackwell tier as PTX, on the PTX simulator: to the bit what NumPy and the CPU target compute."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ptx.handwritten import ORDERS
from tests.support.ptx.unified import numpy_gpu
from tests.unit.cute.nvgpu.tcgen05 import test_products
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.cute.nvgpu import tcgen05

pytestmark = needs_assembler
LANES_16 = ("16x64b", "16x128b", "16x256b")
K, MN = test_products.K, test_products.MN


@pytest.mark.parametrize("kind", test_products.ARRAYS)
def test_kinds(kind: str) -> None:
    with numpy_gpu("sm_100a"):
        test_products.run(kind, (128, 64))


@pytest.mark.parametrize("majors", [(MN, K), (K, MN), (MN, MN)])
@pytest.mark.parametrize("kind", ["f16", "s8"])
def test_majors(kind: str, majors: tuple[Any, Any]) -> None:
    with numpy_gpu("sm_100a"):
        test_products.run(kind, (128, 128), majors)


@pytest.mark.parametrize(
    ("shape", "rows"), [("32x32b", 128), *((shape, rows) for shape in LANES_16 for rows in (64, 128))]
)
def test_loads(shape: str, rows: int) -> None:
    load = test_products.LOADS[shape](tcgen05.Repetition.x8)
    with numpy_gpu("sm_100a"):
        test_products.run("f16", (rows, 64), load=load)


def test_orders_of_asynchronous_operations() -> None:
    with numpy_gpu("sm_100a") as library:
        for order in (*ORDERS, 2, 3):
            library.gpu.order = order
            test_products.run("bf16", (128, 32))
