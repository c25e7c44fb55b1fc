"""Kernels on an OpenCL runtime, whose compiler nobody here wrote: they compute what NumPy and float64 say.

A slice of `python -m benchmarks.spirv_judge`, which runs every case, every plain example and a thousand kernels.
"""

from __future__ import annotations

import numpy as np
import pytest

import triptych as tt
from tests.differential.choices import RandomChoices
from tests.differential.kernel_suite.catalogue import CASES
from tests.differential.kernels.generator import generate
from tests.differential.kernels.oracle import Failed, differs, run_compiled
from tests.unit.targets.nvptx.programs import FOLDER, example
from triptych import cute
from triptych.diagnostics.runtime_errors import ArgumentCountError, DivisionByZeroError
from triptych.support.config import override
from triptych.targets.spirv.runtime.opencl import find_opencl
from triptych.workbench.arrays import clone, mapped
from triptych.workbench.contracts.loading import contract_of
from triptych.workbench.verification.verifying import check_again

pytestmark = pytest.mark.skipif(
    find_opencl() is None, reason="no OpenCL runtime that takes SPIR-V: pip install 'triptych[spirv]'"
)

SLICE = (
    *(
        "elementwise.numbers_of_every_type",
        "indices.gathers_of_blocks_of_two_dimensions",
        "block_sharing.inclusive_scan",
    ),
    *("warps.shuffles_of_all_widths", "warps.votes_of_whole_and_incomplete_warps", "divergence.loops_left_by_vote"),
    *("lifetimes.numbers_of_all_types", "registers.vectors_of_neighbours"),
    *("mathematics.conversions", "mathematics.infinities_and_nans", "elementwise.narrow_floats_are_exact_inputs"),
)
EXAMPLES = ("block_reduction", "rms_norm", "histogram", "sgemm", "warp_reduction")
SEEDS = range(7_000_000, 7_000_006)


@pytest.mark.parametrize("name", SLICE)
def test_kernel_computes_what_numpy_computes(name: str) -> None:
    with override(target="spirv"):
        CASES[name]()


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_agrees_with_float64(name: str) -> None:
    contract = contract_of(FOLDER / f"{name}.py", example(name))
    for case in [case for case in contract.cases.values() if not case.get("bench")][:2]:
        inputs = contract.inputs(0, case)
        with override(target="spirv"):
            outputs = contract.run(contract.kernel, mapped(inputs, clone))
        assert check_again(contract, inputs, outputs, None) == [], case


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_kernels_agree_with_the_reference(seed: int) -> None:
    """What OpenCL refuses with its reason is no difference."""
    program = generate(RandomChoices(seed))
    with override(target="spirv"):
        found = run_compiled(program, opt_level=3)
    refused = any(isinstance(each, Failed) and each.kind == "ArchitectureError" for each in found)
    assert refused or differs(program, "spirv", found) is None


@tt.kernel
def quotient_kernel(x: cute.Tensor, n: tt.Int32) -> None:
    i, _, _ = cute.arch.thread_idx()
    x[i] = i // n


@tt.jit
def quotient(x: cute.Tensor, n: tt.Int32) -> None:
    quotient_kernel(x, n).launch(grid=1, block=8)


def test_a_check_that_fails_is_the_error_of_its_line() -> None:
    x = np.zeros(8, np.int32)
    compiled = tt.compile(quotient, x, 2, target="spirv")
    compiled(x, 2)
    assert x.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    with pytest.raises(DivisionByZeroError) as raised:
        compiled(x, 0)
    assert raised.value.span is not None
    assert raised.value.span.line == quotient_kernel.__wrapped__.__code__.co_firstlineno + 3


def test_arguments_are_counted_as_the_user_gives_them() -> None:
    """The compiled host function takes one more."""
    compiled = tt.compile(quotient, np.zeros(8, np.int32), 2, target="spirv")
    with pytest.raises(ArgumentCountError, match=r"quotient\(\) takes 2 arguments but 1 was given"):
        compiled(np.zeros(8, np.int32))
