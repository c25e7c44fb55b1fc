"""The PTX of kernels, run on the PTX simulator: it computes what NumPy and float64 say, and what the CPU target does.

Everything takes part but the assembler: the host function with its launch, the passes of the target, LLVM.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.differential.choices import RandomChoices
from tests.differential.kernel_suite.catalogue import CASES
from tests.differential.kernels.generator import generate
from tests.differential.kernels.oracle import differs, run_ptx
from tests.differential.seeded_runs import few_and_many, run_seeds
from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.programs import FOLDER, example
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.workbench.arrays import clone, mapped
from triptych.workbench.contracts.loading import contract_of
from triptych.workbench.verification.verifying import check_again

pytestmark = needs_assembler

EXAMPLES = {
    "sm_80": ("vector_add", "relu", "rms_norm", "layer_norm", "transpose", "gemm", "flash_attention"),
    "sm_89": ("tensor_core_gemm",),
    "sm_90": ("sgemm", "tensor_core_gemm", "histogram"),
    "sm_100a": ("vector_add", "softmax", "block_reduction", "blackwell_gemm"),
    "sm_120a": ("elementwise_apply", "epilogues", "warp_reduction", "tensor_core_gemm", "flash_attention"),
}
"""Every example somewhere; those with instructions of an architecture's own there."""
SEEDS = range(4_000_000, 4_000_060)


@pytest.mark.parametrize("name", CASES)
def test_kernel_computes_what_numpy_computes(name: str) -> None:
    with numpy_gpu("sm_90"):
        CASES[name]()


@pytest.mark.parametrize(("architecture", "name"), [(where, name) for where in EXAMPLES for name in EXAMPLES[where]])
def test_example_agrees_with_float64(architecture: str, name: str) -> None:
    """Its small cases, by its own reference and bound."""
    contract = contract_of(FOLDER / f"{name}.py", example(name))
    for case in contract.cases.values():
        if not case.get("bench"):
            inputs = contract.inputs(0, case)
            with numpy_gpu(architecture):
                outputs = contract.run(contract.kernel, mapped(inputs, clone))
            assert check_again(contract, inputs, outputs, None) == [], case


def test_hello_world_runs(capfd: pytest.CaptureFixture[str]) -> None:
    """The host prints; what a kernel prints goes through the driver, which is none here."""
    with numpy_gpu("sm_80"):
        example("hello_world").hello_world()
    assert "hello from the host" in capfd.readouterr().out


@few_and_many(SEEDS, few=6)
@pytest.mark.parametrize("architecture", ["sm_80", "sm_120a"])
def test_generated_kernels_agree_with_the_reference(architecture: str, seeds: Sequence[int]) -> None:
    def disagreement(seed: int) -> object | None:
        program = generate(RandomChoices(seed))
        return differs(program, architecture, run_ptx(program, architecture))

    run_seeds(disagreement, seeds)
