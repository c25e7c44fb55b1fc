"""Kernels of the Blackwell tier as PTX, on the PTX simulator: to the bit what NumPy and the CPU target compute."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from tests.checkers.pairs import Pair
from tests.checkers.tensor_memory_pairs import TENSOR_MEMORY
from tests.support.ptx.handwritten import ORDERS
from tests.support.ptx.unified import numpy_gpu
from tests.unit.cute.nvgpu.tcgen05 import test_a_in_tensor_memory, test_block_scales, test_copies, test_products
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
@pytest.mark.parametrize("kind", ["f16", "tf32", "s8"])
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


@pytest.mark.parametrize("kind", test_a_in_tensor_memory.KINDS)
def test_a_in_tensor_memory_of_kinds(kind: Any) -> None:
    with numpy_gpu("sm_100a"):
        test_a_in_tensor_memory.run(kind)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_loads_that_reduce(kind: str) -> None:
    with numpy_gpu("sm_103a"):
        test_copies.check_extremes(kind)


# the programs of the checkers ---------------------------------------------------------------------------------------
def run_of(pair: Pair, *, wrong: bool) -> Any:
    """What one program of a pair stores."""
    names: dict[str, Any] = {"__name__": pair.name}
    name = f"<{pair.name}, {'wrong' if wrong else 'right'}>"
    text, _ = pair.text(wrong=wrong)
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), names)
    given, out = (np.arange(4096) % 61 + 1).astype(pair.dtype), np.zeros(4096, pair.dtype)
    names["run"](given, out)
    return out


PAIRS = {pair.name: pair for pair in TENSOR_MEMORY}


@pytest.mark.parametrize(
    "name", ["tensor memory: a product adds to what nobody has written", "pairs: bytes of one CTA"]
)
def test_right_programs_store_what_they_store_on_the_cpu(name: str) -> None:
    """Of one block, and of a pair whose operands TMA loads."""
    expected = run_of(PAIRS[name], wrong=False)
    with numpy_gpu("sm_100a") as library:
        for order in ORDERS:
            library.gpu.order = order
            np.testing.assert_array_equal(run_of(PAIRS[name], wrong=False), expected)


WRONG = {
    "tensor memory: a load before the product is complete": "this is still under way: tcgen05.commit",
    "tensor memory: products that nobody commits": "1 of 1 arrivals and 0 bytes are missing",
    "tensor memory: nobody waits for stores before a product": "is freed while this is under way: tcgen05.st",
    "tensor memory: factors that are not fenced": "without a fence.proxy.async",
    "tensor memory: columns beyond those that are taken": "columns 496 to 527 of 512",
    "tensor memory: columns that were given back": "column 480 is freed",
    "tensor memory: given back twice": "was freed before",
    "tensor memory: left at the end": "are still allocated",
    "tensor memory: lanes of another warp": "reaches lanes",
    "pairs: a commit that the other CTA is not told of": "arrivals and 0 bytes are missing",
    "pairs: a commit to the barrier of the other CTA": "arrivals and 0 bytes are missing",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_are_refused(name: str) -> None:
    with numpy_gpu("sm_100a"), pytest.raises(Exception, match=WRONG[name]):
        run_of(PAIRS[name], wrong=True)


@pytest.mark.parametrize("kind", test_block_scales.KINDS)
def test_block_scales_in_tensor_memory(kind: str) -> None:
    with numpy_gpu("sm_100a"):
        test_block_scales.run(kind, 64)


def test_scales_that_fields_say() -> None:
    with numpy_gpu("sm_100a") as library:
        for order in ORDERS:
            library.gpu.order = order
            test_block_scales.run("mxf8", 192, by_fields=True)
