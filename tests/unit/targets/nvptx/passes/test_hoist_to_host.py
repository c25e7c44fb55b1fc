"""What the host computes for a kernel: the same results, found by running the changed programs on the CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.unit.targets.nvptx.fake_driver import FakeDriver, GpuArray, needs_compiler
from tests.unit.targets.nvptx.programs import matrix, vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.diagnostics.runtime_errors import DivisionByZeroError
from triptych.ir.modules import SerializedModule, Signature, attach_signature, copy_module, operations_named
from triptych.ir.passes import run_passes
from triptych.kernel_ir.transforms.divisor_checks import place_divisor_checks
from triptych.objectstage.codegen import codegen, load
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, find_target
from triptych.stages import PassSpec
from triptych.targets.nvptx.passes import hoist_to_host as hoist_to_host
from triptych.targets.nvptx.passes.hoist_to_host import magic_division

BIG = 2**31 - 1
DIVISORS = sorted({d for k in range(31) for d in (2**k - 1, 2**k, 2**k + 1) if d > 0} | {BIG, 10, 641, 10**9 + 7})
DIVIDENDS = sorted({n * sign for d in DIVISORS for n in (d, d - 1, 3 * d % BIG, BIG // d * d) for sign in (1, -1)})
DIVIDENDS += [-(2**31), -(2**31) + 1, BIG, BIG - 1]


# The same results -----------------------------------------------------------------------------------------------------
@tt.kernel
def divide(numbers: cute.Tensor, quotients: cute.Tensor, remainders: cute.Tensor, divisor: tt.Int32) -> None:
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    if i < cute.size(numbers):
        quotients[i] = numbers[i] // divisor
        remainders[i] = numbers[i] % divisor


@tt.jit
def divided(numbers: cute.Tensor, quotients: cute.Tensor, remainders: cute.Tensor, divisor: tt.Int32) -> None:
    divide(numbers, quotients, remainders, divisor).launch(grid=cute.ceil_div(cute.size(numbers), 32), block=32)


@tt.kernel
def divide_long(numbers: cute.Tensor, quotients: cute.Tensor, remainders: cute.Tensor, divisor: tt.Int64) -> None:
    i = cute.arch.thread_idx()[0]
    quotients[i] = numbers[i] // divisor
    remainders[i] = numbers[i] % divisor


@tt.jit
def divided_long(numbers: cute.Tensor, quotients: cute.Tensor, remainders: cute.Tensor, divisor: tt.Int64) -> None:
    divide_long(numbers, quotients, remainders, divisor).launch(grid=1, block=64)


@tt.kernel
def by_grid(a: cute.Tensor) -> None:
    x, y, _ = cute.arch.grid_dim()
    i, j, _ = cute.arch.block_idx()
    number = i + x * j
    a[number] = (number % cute.size(((8, x // 8), y))) % y


@tt.jit
def divided_by_grid(a: cute.Tensor, x: tt.Int32, y: tt.Int32) -> None:
    by_grid(a).launch(grid=(x, y, 1), block=1)


@tt.kernel
def number(a: cute.Tensor) -> None:
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    if i < cute.size(a):
        a[i] = i


@tt.jit
def numbered(a: cute.Tensor) -> None:
    number(a).launch(grid=cute.ceil_div(cute.size(a), 32), block=32)


def changed(function: Any, *arguments: Any) -> tuple[Any, Any]:
    """A program as it is for GPUs after the passes that divisions need, compiled for the CPU; and its module."""
    traced = tt.compile(function, *arguments, target="cpu")._loaded.compiled.lowered.traced
    module = copy_module(traced.module.read())
    attach_signature(module, Signature(traced.name, traced.parameters, traced.results))
    place_divisor_checks(module)
    hoist_to_host.hoist_to_host(module)
    magic_division(module)
    run_passes(module, [PassSpec("canonicalize", "What nobody needs is gone.")])
    target, options = find_target("cpu"), CompileOptions()
    program = lower(replace(traced, module=SerializedModule(module)), target, options=options)
    return load(codegen(program, target, options), target).call, module


def names(module: Any) -> list[str]:
    kernel = operations_named(module, "gpu.func")[0]
    return [operation.name for operation in operations_named(kernel, "arith.divsi", "arith.divui", "cf.assert")]


@pytest.fixture(scope="module")
def divider() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hoist_to_host, "extents_given", lambda *_: [True] * 7)
        numbers = np.zeros(8, np.int32)
        call, module = changed(divided, numbers, numbers, numbers, 1)
    assert not names(module), "neither a division nor a check is left to the kernel"
    return call


def check_division(divider: Any, dividends: list[int], divisor: int) -> None:
    numbers = np.array(dividends, np.int32)
    quotients, remainders = np.empty_like(numbers), np.empty_like(numbers)
    divider(numbers, quotients, remainders, divisor)
    assert quotients.tolist() == [n // divisor for n in dividends]
    assert remainders.tolist() == [n % divisor for n in dividends]


@pytest.mark.parametrize("divisor", DIVISORS)
def test_python_division_by_what_the_host_knows(divider: Any, divisor: int) -> None:
    check_division(divider, DIVIDENDS, divisor)


@given(st.lists(st.integers(-(2**31), BIG), min_size=1, max_size=64), st.integers(1, BIG))
@examples(60)
def test_python_division_of_anything(divider: Any, dividends: list[int], divisor: int) -> None:
    check_division(divider, dividends, divisor)


@pytest.fixture(scope="module")
def long_divider() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hoist_to_host, "extents_given", lambda *_: [True] * 7)
        numbers = np.zeros(64, np.int64)
        call, module = changed(divided_long, numbers, numbers, numbers, 1)
    assert not names(module)
    return call


def check_long_division(divider: Any, dividends: list[int], divisor: int) -> None:
    numbers = np.array(dividends, np.int64)
    quotients, remainders = np.empty_like(numbers), np.empty_like(numbers)
    divider(numbers, quotients, remainders, divisor)
    assert quotients.tolist() == [n // divisor for n in dividends]
    assert remainders.tolist() == [n % divisor for n in dividends]


@pytest.mark.parametrize(
    "divisor", sorted({d for k in range(0, 63, 3) for d in (2**k - 1, 2**k, 2**k + 1) if d > 0} | {2**63 - 1, 10**18})
)
def test_long_division_by_what_the_host_knows(long_divider: Any, divisor: int) -> None:
    most = 2**63 - 1
    sizes = [
        0,
        1,
        divisor,
        divisor - 1,
        most // divisor * divisor,
        most // divisor * divisor - 1,
        most,
        most - 1,
        2**62,
    ]
    signed = [n for size in sizes for n in (size, -size, ~size)]
    check_long_division(long_divider, (signed * 3)[:64], divisor)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=64, max_size=64), st.integers(1, 2**63 - 1))
@examples(40)
def test_long_division_of_anything(long_divider: Any, dividends: list[int], divisor: int) -> None:
    check_long_division(long_divider, dividends, divisor)


def test_the_host_knows_the_grid() -> None:
    call, module = changed(divided_by_grid, np.zeros(17 * 6, np.int64), 17, 6)
    assert names(module) == ["arith.divsi"], "only that by eight"
    remainders = operations_named(operations_named(module, "gpu.func")[0], "arith.remsi", "arith.remui")
    assert len(remainders) == 1, "that by eight; a size that was checked to fit in 32 bits is known not to be negative"
    for x, y in ((17, 6), (8, 1), (16, 5)):
        found = np.zeros(17 * 6, np.int64)
        call(found, x, y)
        assert found[: x * y].tolist() == [n % (x // 8 * 8 * y) % y for n in range(x * y)]


@pytest.fixture(scope="module")
def numberer() -> Any:
    call, module = changed(numbered, matrix(tt.Int32))
    assert not names(module)
    return call


@pytest.mark.parametrize("shape", [(1, 4), (3, 4), (4, 12), (7, 100), (33, 64), (128, 8)], ids=str)
def test_coordinates_in_layouts(numberer: Any, shape: tuple[int, int]) -> None:
    a = np.empty(shape, np.int32)
    numberer(a)
    np.testing.assert_array_equal(a, np.arange(a.size, dtype=np.int32).reshape(shape[::-1]).T)


def test_a_divisor_that_may_be_negative_stays_a_division() -> None:
    numbers = np.zeros(8, np.int32)
    _, module = changed(divided, numbers, numbers, numbers, 1)
    assert "arith.divsi" in names(module)


# Checks ---------------------------------------------------------------------------------------------------------------
@tt.kernel
def split(a: cute.Tensor, d: tt.Int32) -> None:
    a[cute.arch.thread_idx()[0] // d] = 1.0


@tt.kernel
def split_inside(a: cute.Tensor, d: tt.Int32, size: tt.Int32) -> None:
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    if i < size * d:
        a[i // d] = 1.0


@tt.kernel
def split_late(a: cute.Tensor, d: tt.Int32) -> None:
    a[0] = 1.0
    a[cute.arch.thread_idx()[0] // d] = 1.0


@tt.kernel
def split_for_some(a: cute.Tensor, d: tt.Int32) -> None:
    if cute.arch.thread_idx()[0] > 7:
        a[cute.arch.thread_idx()[0] // d] = 1.0


@tt.jit
def splits(a: cute.Tensor, d: tt.Int32, blocks: tt.Int32) -> None:
    split(a, d).launch(grid=blocks, block=32)


@tt.jit
def splits_inside(a: cute.Tensor, d: tt.Int32, size: tt.Int32, blocks: tt.Int32) -> None:
    split_inside(a, d, size).launch(grid=blocks, block=256)


@tt.jit
def splits_late(a: cute.Tensor, d: tt.Int32) -> None:
    split_late(a, d).launch(grid=1, block=32)


@tt.jit
def splits_for_some(a: cute.Tensor, d: tt.Int32) -> None:
    split_for_some(a, d).launch(grid=1, block=32)


@needs_compiler
@needs_assembler
class TestChecksBeforeTheLaunch:
    @pytest.fixture
    def a(self) -> GpuArray:
        return GpuArray(np.zeros(64, np.float32))

    def test_a_check_of_every_thread_raises_here(self, fake: FakeDriver, a: GpuArray) -> None:
        fake.kernel("split", "pii")
        compiled = tt.compile(splits, vector(), 1, 1, target="nvptx:sm_80")
        assert "__assertfail" not in compiled.__ptx__
        with pytest.raises(DivisionByZeroError, match="a // b if b != 0") as raised:
            compiled(a, 0, 1)
        assert "split" in str(raised.value)
        assert fake.log("launch") == []
        compiled(a, 0, 0)
        assert fake.log("launch") == [], "nobody divides in an empty grid"
        compiled(a, 3, 1)
        assert len(fake.log("launch")) == 1

    @pytest.mark.parametrize(
        ("d", "size", "blocks", "fails"),
        [(0, 5, 2**23, False), (0, 5, 2**23 + 1, True), (0, 5, 0, False), (1, 5, 2**23 + 1, False), (-1, 0, 9, False)],
    )
    def test_a_check_below_the_size(
        self, fake: FakeDriver, a: GpuArray, d: int, size: int, blocks: int, fails: bool
    ) -> None:
        """Below size * 0 are only numbers that have become negative, beyond 2**31 threads."""
        fake.kernel("split_inside", "piii")
        compiled = tt.compile(splits_inside, vector(), 1, 1, 1, target="nvptx:sm_80")
        assert "__assertfail" not in compiled.__ptx__
        if fails:
            with pytest.raises(DivisionByZeroError):
                compiled(a, d, size, blocks)
        else:
            compiled(a, d, size, blocks)
        assert len(fake.log("launch")) == int(blocks > 0 and not fails)

    @pytest.mark.parametrize("program", [splits_late, splits_for_some], ids=["after an effect", "for some threads"])
    def test_other_checks_stay_in_the_kernel(self, program: Any) -> None:
        assert "__assertfail" in tt.compile(program, vector(), 1, target="nvptx:sm_80").__ptx__


@needs_compiler
@needs_assembler
def test_what_is_launched(fake: FakeDriver) -> None:
    """The host gives the reciprocal of the rows: 7 is 2**34 // 7 + 1 and 3."""
    fake.kernel("number", "piiiii")
    a = np.zeros((7, 12), np.int32)
    tt.compile(numbered, matrix(tt.Int32), target="nvptx:sm_80")(GpuArray(a))
    (line,) = fake.log("launch")
    assert int(line.split()[-2]) % 2**32 == 2**34 // 7 + 1
    assert line.endswith(" 3")
