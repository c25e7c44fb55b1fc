"""What CPU passes look for and say that they add: the names of a module are read once, and no pass is left out."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced
from triptych import cute
from triptych.ir import passes
from triptych.ir.handles import Module
from triptych.ir.modules import operation_names
from triptych.objectstage.lower import lower
from triptych.objectstage.target import find_target
from triptych.stages import PassSpec
from triptych.targets.cpu.pipeline import PIPELINE

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "kernels"
Case = tuple[Any, Sequence[Any]]


@tt.kernel
def various(x: cute.Tensor, y: cute.Tensor) -> None:
    """Arrays, loops, prints, checks, conversions, mathematics of the C library."""
    thread, _, _ = cute.arch.thread_idx()
    held = cute.make_rmem_tensor(cute.make_layout(4), tt.Float32)
    for i in range(thread % 3 + 1):
        held[i] = cute.math.exp2(x[thread].to(tt.Float32)) + i
    cute.arch.sync_threads()
    y[thread] = (held[0] // (thread + 1)).to(y.element_type)
    if thread == 7:
        cute.printf("%d", thread)


@tt.jit
def varied(x: cute.Tensor, y: cute.Tensor) -> None:
    various(x, y).launch(grid=1, block=64)


@tt.jit
def on_the_host(count: tt.Int32, number: tt.Float64) -> tt.Float64:
    total = number
    for i in range(count):
        total = total + cute.math.log1p(number) / (i + 1)
    while total > 100.0:
        total = total - number
    return total


def product() -> Case:
    example = importlib.import_module("tensor_core_gemm")
    x = example.operand_of(np.zeros((128, 128), ml_dtypes.bfloat16))
    return example.gemm, (x, x, np.zeros((128, 128), np.float32))


def attention() -> Case:
    example = importlib.import_module("flash_attention")
    q, k, v = (example.tensor_of(array) for array in example.sample((1, 64, 1, 64), 64, ml_dtypes.bfloat16))
    return example.attention, (q, k, v, q, True)


def kernel() -> Case:
    return varied, (np.zeros(64, ml_dtypes.bfloat16), np.zeros(64, ml_dtypes.float8_e4m3fn))


def host() -> Case:
    return on_the_host, (3, 0.5)


CASES: Sequence[Callable[[], Case]] = (product, attention, kernel, host)


@pytest.fixture(autouse=True)
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples are found by their folder."""
    monkeypatch.syspath_prepend(EXAMPLES)


def lowered(case: Callable[[], Case]) -> None:
    function, arguments = case()
    lower(traced(function, *arguments), find_target("cpu"), function.language.passes)


@pytest.mark.parametrize("case", CASES)
def test_the_names_of_a_module_are_read_once(case: Callable[[], Case], monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Module] = []

    def reading(module: Module) -> frozenset[str]:
        reads.append(module)
        return operation_names(module)

    monkeypatch.setattr(passes, "operation_names", reading)
    lowered(case)
    assert len(reads) <= 1


@pytest.mark.parametrize("case", CASES)
def test_a_pass_makes_only_what_it_says(case: Callable[[], Case], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pass makes and others behind it look for is among what it adds: they would be left out otherwise."""
    run = passes._run_step
    places = {spec.name: place for place, spec in enumerate(PIPELINE)}
    unsaid: dict[str, frozenset[str]] = {}

    def checked(module: Module, step: tuple[PassSpec, ...]) -> bool:
        before = operation_names(module)
        changed = run(module, step)
        last = places.get(step[-1].name)
        if last is not None and all(spec.adds is not None for spec in step):
            later = (spec.looks_for for spec in PIPELINE[last + 1 :])
            asked = frozenset().union(*(names for names in later if names.isdisjoint(before)))
            said = frozenset().union(*(spec.adds or () for spec in step)) if changed else frozenset()
            if made := (operation_names(module) - before) & asked - said:
                unsaid[step[0].name] = made
        return changed

    monkeypatch.setattr(passes, "_run_step", checked)
    lowered(case)
    assert not unsaid
