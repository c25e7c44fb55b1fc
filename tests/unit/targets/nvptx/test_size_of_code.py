"""Compile time for GPUs by what it depends on: walks over a kernel, and what LLVM is given. Counts, not seconds."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from tests.ir.traced import traced
from triptych.cute.tensors.tensor import Tensor
from triptych.ir import bindings
from triptych.objectstage.lower import lower
from triptych.objectstage.target import find_target

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "kernels"
_VECTOR = re.compile(r"<(\d+) x ")


@pytest.fixture
def attention(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An example with long vectors, as a traced program."""
    monkeypatch.syspath_prepend(EXAMPLES)
    example = importlib.import_module("flash_attention")
    heads = [example.tensor_of(array) for array in example.sample((1, 128, 2, 64), 128)]
    return example.attention, (*heads, heads[0], True)


def test_no_long_vectors_for_llvm(attention: Any) -> None:
    function, arguments = attention
    llvm = lower(traced(function, *arguments), find_target("nvptx:sm_80"), function.language.passes).llvm
    assert max(map(int, _VECTOR.findall(llvm))) <= 8  # what one access to memory moves
    assert len(llvm.splitlines()) <= 8_500


def test_registers_of_an_instruction_are_found_at_once(attention: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    function, arguments = attention
    offset, asked = Tensor.offset, []

    def counting(tensor: Tensor, coordinate: Any) -> Any:
        asked.append(coordinate)
        return offset(tensor, coordinate)

    monkeypatch.setattr(Tensor, "offset", counting)
    traced(function, *arguments)
    assert len(asked) <= 770


def test_a_kernel_is_walked_over_a_few_times(attention: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    function, arguments = attention
    program = traced(function, *arguments)
    base: Any = bindings.mlir().Operation.__mro__[1]
    walk, walked = base.walk, []

    def counting(operation: Any, visit: Any) -> None:
        walked.append(operation)
        walk(operation, visit)

    monkeypatch.setattr(base, "walk", counting)
    lower(program, find_target("nvptx:sm_80"), function.language.passes)
    assert len(walked) <= 26
