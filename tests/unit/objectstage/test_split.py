"""A program for a GPU is two programs: each example parts into kernels and a host function that calls a driver."""

from __future__ import annotations

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import EXAMPLES, vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.interop.dlpack import GPU_DEVICES
from triptych.ir.errors import LoweringError
from triptych.ir.modules import operation_names
from triptych.ir.passes import run_passes, verify
from triptych.objectstage.host_program import HOST_CHECKS
from triptych.objectstage.lower import lower, split
from triptych.objectstage.target import host_target
from triptych.stages import PassSpec, Traced


def traced(name: str) -> Traced:
    function, arguments = EXAMPLES[name]()
    found: Traced = tt.compile(function, *arguments, target="cpu")._loaded.compiled.lowered.traced
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_parts_of_an_example(name: str) -> None:
    program = traced(name)
    before = str(program.module)
    parts = split(program, ())
    host, device = str(parts.host.module), str(parts.device.module)
    assert "gpu.module" not in host
    assert "gpu.launch_func" not in host
    assert host.count("llvm.func internal") == before.count("gpu.launch_func")
    assert "func.func" not in device
    assert "gpu.launch_func" not in device
    assert device.count("gpu.func") == before.count("gpu.func") == len(parts.kernels)
    assert all(leaf.memory is None or leaf.memory.devices == GPU_DEVICES for leaf in parts.host.parameters)
    assert "define i32" in lower(parts.host, host_target()).llvm
    assert str(program.module) == before, "the traced program stays as it is"


def test_kernels_are_counted_in_their_order() -> None:
    assert split(traced("block reduction"), ()).kernels == ("sum_of_block", "sum_of_block_1")


def test_passes_in_front_see_both_parts_once() -> None:
    seen: list[frozenset[str]] = []
    split(traced("relu"), [PassSpec("look", "A test looks.", lambda module: seen.append(operation_names(module)))])
    (names,) = seen
    assert names.issuperset({"gpu.launch_func", "gpu.func", "func.func"})


@tt.kernel
def fill(x: cute.Tensor, small: tt.Float8E4M3FN, wide: tt.TFloat32) -> None:
    x[0] = small.to(tt.Float32) + wide.to(tt.Float32)


@tt.jit
def filled(x: cute.Tensor, small: tt.Float8E4M3FN, wide: tt.TFloat32) -> None:
    fill(x, small, wide).launch(grid=1, block=1)


def test_host_programs_are_well_formed_with_narrow_floats() -> None:
    program = tt.compile(filled, vector(), 1.0, 1.0, target="cpu")._loaded.compiled.lowered.traced
    host = split(program, ()).host
    verify(host.module.read())
    assert "unrealized_conversion_cast" not in lower(host, host_target()).mlir


@tt.jit
def last_of(x: cute.Tensor) -> None:
    x[0] = x[1]


def test_host_programs_do_not_touch_tensors() -> None:
    program = tt.compile(last_of, vector(), target="cpu")._loaded.compiled.lowered.traced
    module = split(program, ()).host.module.read()
    with pytest.raises(LoweringError, match="in the memory of the GPU"):
        run_passes(module, HOST_CHECKS)


@needs_assembler
def test_the_host_program_is_compiled_once_and_not_before_it_is_called() -> None:
    function, arguments = EXAMPLES["relu"]()
    compiled = tt.compile(function, *arguments, target="nvptx:sm_80")._loaded.compiled
    assert compiled.host is not None
    assert compiled.lowered.host is not None
    assert compiled.lowered.kernels
    first = compiled.host()
    assert first is compiled.host()
    assert first.lowered.traced is compiled.lowered.host
    assert first.host is None
