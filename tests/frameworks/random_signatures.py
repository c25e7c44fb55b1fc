"""Random functions that fill tensors: any ranks, element types, orders of strides, numbers, results.

Input: a seed. Output: a `@jit` function, how its results are made, and calls of it, with what each must find.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np
import pytest

import triptych as tt
from triptych import cute

torch: Any = pytest.importorskip("torch")

NUMBERS = {
    "tt.Int32": ("SymInt", "3"),
    "tt.Int64": ("SymInt", "-2"),
    "tt.Uint8": ("SymInt", "5"),
    "tt.Float32": ("float", "0.5"),
    "tt.Float64": ("float", "2.0"),
    "tt.Boolean": ("bool", "True"),
    "int": ("SymInt", "7"),
    "float": ("float", "1.5"),
    "bool": ("bool", "False"),
    "tt.Constexpr[int]": ("int", "4"),
    "tt.Constexpr[float]": ("float", "0.25"),
    "tt.Constexpr[bool]": ("bool", "True"),
    "tt.Constexpr[str]": ("str", "'word'"),
}
"""Annotations, their words in a schema, and a value of each."""
TYPES = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "bool"]
TYPES += ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NAMES: dict[str, Any] = {"tt": tt, "cute": cute, "Optional": Optional, "torch": torch}


@dataclass
class Parameter:
    """One of a function: its annotation, its word in a schema, and what calls give."""

    name: str
    annotation: str
    word: str
    default: str = ""
    written: bool = False
    is_result: bool = False
    values: list[Any] = field(default_factory=list)

    @property
    def text(self) -> str:
        """As Python writes it."""
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")


@dataclass
class Drawn:
    """A function with what is declared of it."""

    seed: int
    parameters: list[Parameter]
    out: dict[str, Any]
    made: dict[str, tuple[str, str]]
    """Of each result, the element type and the text of its allocation."""

    @property
    def given(self) -> list[Parameter]:
        """What calls give."""
        return [each for each in self.parameters if not each.is_result]

    @property
    def written(self) -> tuple[str, ...]:
        """Which tensors of calls the function writes."""
        return tuple(each.name for each in self.given if each.written)

    @property
    def schema(self) -> str:
        """What PyTorch must be told."""
        texts = []
        for i, each in enumerate(self.given):
            word = each.word.replace("Tensor", f"Tensor(a{i}!)") if each.written else each.word
            default = f"={each.default}".replace("'", '"') if each.default else ""
            texts.append(f"{word} {each.name}{default}")
        results = ", ".join(["Tensor"] * len(self.out))
        return f"({', '.join(texts)}) -> {results if len(self.out) == 1 else f'({results})'}"

    @property
    def text(self) -> str:
        """The function's source."""
        lines = [f"def drawn({', '.join(each.text for each in self.parameters)}) -> None:"]
        for each in self.parameters:
            if each.written or each.is_result:
                fill = f"for i in range(cute.size({each.name})): {each.name}[i] = {each.name}.element_type(1)"
                lines.append(f"    if {each.name} is not None:\n        {fill}" if each.default else f"    {fill}")
        return "\n".join([*lines, "    return", ""])

    def function(self) -> Any:
        """The function itself, whose source Python's tools find."""
        file = f"<drawn {self.seed}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        names = dict(NAMES)
        exec(compile(self.text, file, "exec"), names)
        return tt.jit(names["drawn"])


def draw(seed: int, calls: int = 2) -> Drawn:
    """What a seed means."""
    drawn = np.random.default_rng(seed)
    tensors = [_tensor(drawn, f"t{i}", calls) for i in range(drawn.integers(1, 4))]
    kinds = list(NUMBERS)
    numbers = [_number(drawn, f"n{i}", kinds[drawn.integers(len(kinds))], calls) for i in range(drawn.integers(0, 4))]
    sure = [each for each in tensors if not each.default]
    results = (
        [Parameter(f"r{i}", "cute.Tensor", "", is_result=True) for i in range(drawn.integers(0, 4))] if sure else []
    )
    if not results and not any(each.written for each in tensors):
        tensors[0].written = True
    if sure and not results and not any(each.written for each in sure):
        sure[0].written = True
    out: dict[str, Any] = {}
    made: dict[str, tuple[str, str]] = {}
    for each in results:
        out[each.name], made[each.name] = _allocation(drawn, sure)
        if drawn.random() < 0.2:
            each.annotation = "Optional[cute.Tensor]"
    ordered = [*tensors, *numbers, *results]
    ordered = [ordered[i] for i in drawn.permutation(len(ordered))]
    ordered.sort(key=lambda each: bool(each.default))
    return Drawn(seed, ordered, out, made)


def _tensor(drawn: np.random.Generator, name: str, calls: int) -> Parameter:
    rank, dtype = int(drawn.integers(0, 5)), TYPES[drawn.integers(len(TYPES))]
    optional = bool(drawn.random() < 0.2) and name != "t0"  # PyTorch finds a kernel by the tensors that a call gives
    order, gaps = drawn.permutation(rank), bool(drawn.random() < 0.3)
    values: list[Any] = []
    for call in range(calls):
        if optional and (call == 0) == (drawn.random() < 0.5):
            values.append(None)
            continue
        extents = [int(n) for n in drawn.integers(0 if drawn.random() < 0.1 else 1, 5, rank)]
        values.append(_memory(extents, dtype, [int(mode) for mode in order], gaps))
    annotation, word = ("Optional[cute.Tensor]", "Tensor?") if optional else ("cute.Tensor", "Tensor")
    found = Parameter(name, annotation, word, "None" if optional else "", values=values)
    found.written = bool(drawn.random() < 0.3)
    return found


def _memory(extents: list[int], dtype: str, order: list[int], gaps: bool) -> Any:
    """A tensor of zeros whose modes lie in memory in this order, the last one innermost, perhaps with gaps between."""
    lying = [extents[mode] for mode in order]
    wide = torch.zeros([*lying[:-1], lying[-1] * 2] if gaps and lying else lying).to(getattr(torch, dtype))
    tensor = wide[..., ::2] if gaps and lying else wide
    return tensor.permute([order.index(mode) for mode in range(len(order))])


def _number(drawn: np.random.Generator, name: str, annotation: str, calls: int) -> Parameter:
    word, value = NUMBERS[annotation]
    default = value if drawn.random() < 0.4 else ""
    return Parameter(name, annotation, word, default, values=[eval(value)] * calls)


def _allocation(drawn: np.random.Generator, sure: list[Parameter]) -> tuple[str | Callable[..., Any], tuple[str, str]]:
    source = sure[drawn.integers(len(sure))]
    if drawn.random() < 0.5:
        return source.name, (str(source.values[0].dtype).rpartition(".")[2], "like")
    rank, dtype = int(drawn.integers(0, 5)), TYPES[drawn.integers(len(TYPES))]
    extents = [int(n) for n in drawn.integers(1, 5, rank)]
    if rank and source.values[0].dim():
        sized = f"{source.name}.shape[{drawn.integers(source.values[0].dim())}]"
        texts = [sized, *map(str, extents[1:])]
    else:
        texts = [str(n) for n in extents]
    order = ", ".join(str(mode) for mode in drawn.permutation(rank))
    text = (
        f"lambda {source.name}: {source.name}.new_empty([{', '.join(texts)}], dtype=torch.{dtype}).permute([{order}])"
    )
    return eval(text, dict(NAMES)), (dtype, text)
