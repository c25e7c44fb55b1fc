"""Host functions as programs for the CPU: every example has one, and only launches become something else."""

from __future__ import annotations

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import EXAMPLES
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.objectstage.lower import lower
from triptych.objectstage.target import find_target
from triptych.stages import Traced
from triptych.support.dlpack import GPU_DEVICES
from triptych.targets.nvptx.host_code import host_program, kernel_names

pytestmark = needs_assembler


def traced(name: str) -> Traced:
    function, arguments = EXAMPLES[name]()
    found: Traced = tt.compile(function, *arguments, target="nvptx:sm_80")._loaded.compiled.lowered.traced
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_host_function_of_an_example(name: str) -> None:
    program = traced(name)
    before = str(program.module)
    host = host_program(program)
    text = str(host.module)
    assert "gpu.module" not in text
    assert "gpu.launch_func" not in text
    assert text.count("llvm.func internal") == before.count("gpu.launch_func")
    assert all(leaf.memory is None or leaf.memory.devices == GPU_DEVICES for leaf in host.parameters)
    assert "define i32" in lower(host, find_target("cpu")).llvm
    assert str(program.module) == before


def test_kernels_are_counted_in_their_order() -> None:
    assert kernel_names(traced("block reduction")) == ("sum_of_block", "sum_of_block_1")
