"""Typical mistakes with tensor memory and block scales: the error says what is wrong in the program's own words."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import OperandMajorMode, tcgen05
from triptych.cute.tracing.errors import UnknownMatrixInstructionError, UnsetFieldError
from triptych.ir.errors import LoweringError
from triptych.metastage.trace.errors import OperandTypeError
from triptych.utils import TmemAllocator, blackwell_helpers

pytestmark = pytest.mark.cpu
K, FOUR = OperandMajorMode.K, tt.Float4E2M1FN


def scaled_mma(scale: Any) -> Any:
    make = blackwell_helpers.make_blockscaled_trivial_tiled_mma
    return make(FOUR, FOUR, K, K, scale, 16, tcgen05.CtaGroup.ONE, (128, 64))


def launched(kernel: Any, *arguments: Any) -> None:
    @tt.jit
    def run() -> None:
        kernel(*arguments).launch(grid=2, block=128)

    run()


@tt.kernel
def columns_never_taken() -> None:
    columns = TmemAllocator(cute.SmemAllocator().allocate_array(tt.Int32, 1))
    columns.free(columns.retrieve_ptr(tt.Float32))


def test_columns_that_were_never_taken_are_not_given_back() -> None:
    with pytest.raises(OperandTypeError, match="gives columns back that it has not taken") as error:
        launched(columns_never_taken)
    assert "`allocate(columns)`" in str(error.value)


@tt.kernel
def pair_of_none() -> None:
    smem = cute.SmemAllocator()
    word, freed = smem.allocate_array(tt.Int32, 1), smem.allocate_array(tt.Int64, 1)
    columns = TmemAllocator(word, is_two_cta=True, two_cta_tmem_dealloc_mbar_ptr=freed)
    columns.allocate(32)
    columns.wait_for_alloc()
    columns.free(columns.retrieve_ptr(tt.Float32))


def test_a_pair_needs_a_cluster() -> None:
    with pytest.raises(LoweringError, match="whose clusters have no pairs") as error:
        launched(pair_of_none)
    assert "cluster=(2, 1, 1)" in str(error.value)


@pytest.mark.parametrize("scale", [tt.Float16, tt.Float8E5M2])
def test_an_operation_names_the_scales_that_it_has(scale: Any) -> None:
    @tt.jit
    def make() -> None:
        scaled_mma(scale)

    with pytest.raises(UnknownMatrixInstructionError) as error:
        make()
    assert f"{scale.__name__} scales of 16 elements" in str(error.value)
    assert "Float8E4M3FN for 16 elements" in str(error.value)


@tt.kernel
def scales_of_another_type(mma: cute.TiledMma) -> None:
    columns = TmemAllocator(cute.SmemAllocator().allocate_array(tt.Int32, 1))
    mma.set(tcgen05.Field.SFA, columns.retrieve_ptr(tt.Float8E8M0FNU))


@tt.kernel
def scales_unknown(mma: cute.TiledMma) -> None:
    mma.get(tcgen05.Field.SFA)


@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        (scales_of_another_type, OperandTypeError, "a pointer to Float8E4M3FN in tensor memory"),
        (scales_unknown, UnsetFieldError, "scales[None, None, k].iterator) before each product"),
    ],
)
def test_scales_are_those_of_the_operation(kernel: Any, kind: type[Exception], words: str) -> None:
    @tt.jit
    def run() -> None:
        kernel(scaled_mma(tt.Float8E4M3FN)).launch(grid=1, block=128)

    with pytest.raises(kind) as error:
        run()
    assert words in str(error.value)
