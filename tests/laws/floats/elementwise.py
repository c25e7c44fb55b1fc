"""Elementwise functions over arrays, compiled from MLIR text on scalars and on vectors: a million elements per call."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.unit.targets.build import function
from triptych.support.float_formats import FLOAT_FORMATS

_NATIVE = {"f16", "bf16", "f32", "f64"}
_TYPE = {"f16": np.uint16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64, "tf32": np.float32}
LANES = (None, 16)
"""A scalar, and the lanes of a vector."""


def memory_type(element: str) -> Any:
    """What NumPy calls the memory of an element: bit patterns of narrow floats, numbers of wide ones."""
    if element in _TYPE:
        return _TYPE[element]
    return np.dtype(f"int{element[1:]}") if element.startswith("i") else np.uint8


@cache
def elementwise(
    body: str, inputs: tuple[str, ...], outputs: tuple[str, ...], lanes: int | None
) -> Callable[..., list[NDArray[Any]]]:
    """`body` computes %r0, %r1, ... from %a0, %a1, ...; `T(x)` in it stands for the type x or a vector of it."""
    parameters = dict.fromkeys((*_names("in", inputs), *_names("out", outputs), "n"), "Int64")
    compiled = function(_module(body, inputs, outputs, lanes), parameters, loops=True)

    def call(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
        size = len(arrays[0])
        padded = [_padded(array, element) for array, element in zip(arrays, inputs, strict=True)]
        results = [np.empty(len(padded[0]), memory_type(element)) for element in outputs]
        compiled(*(array.ctypes.data for array in (*padded, *results)), len(padded[0]))
        return [result[:size] for result in results]

    return call


def _padded(array: NDArray[Any], element: str) -> NDArray[Any]:
    filled = np.zeros(-(-len(array) // 16) * 16, memory_type(element))
    filled[: len(array)] = array.view(filled.dtype)
    return filled


def _names(prefix: str, elements: tuple[str, ...]) -> list[str]:
    return [f"{prefix}{i}" for i in range(len(elements))]


def _module(body: str, inputs: tuple[str, ...], outputs: tuple[str, ...], lanes: int | None) -> str:
    def sized(element: str) -> str:
        return element if lanes is None else f"vector<{lanes}x{element}>"

    parameters = ", ".join(f"%{name}: i64" for name in (*_names("in", inputs), *_names("out", outputs), "n"))
    reads = "\n".join(_read(i, element, sized) for i, element in enumerate(inputs))
    writes = "\n".join(_write(i, element, sized) for i, element in enumerate(outputs))
    sized_body = re.sub(r"T\((\w+)\)", lambda found: sized(found[1]), body)
    return f"""
func.func @f({parameters}) {{
  %zero = arith.constant 0 : i64
  %step = arith.constant {lanes or 1} : i64
  scf.for %i = %zero to %n step %step : i64 {{
{reads}
{sized_body}
{writes}
  }}
  return
}}
"""


def _plain(element: str) -> str:
    """The type in memory: narrow floats lie there as bytes, TF32 as a Float32."""
    return element if element in _NATIVE or element.startswith("i") else "f32" if element == "tf32" else "i8"


def _place(name: str, element: str) -> str:
    return f"""
    %{name}.base = llvm.inttoptr %{name} : i64 to !llvm.ptr
    %{name}.at = llvm.getelementptr %{name}.base[%i] : (!llvm.ptr, i64) -> !llvm.ptr, {_plain(element)}"""


def _read(i: int, element: str, sized: Callable[[str], str]) -> str:
    plain = _plain(element)
    load = f"llvm.load %in{i}.at {{alignment = 1 : i64}} : !llvm.ptr -> {sized(plain)}"
    place = _place(f"in{i}", element)
    if element == plain:
        return f"{place}\n    %a{i} = {load}"
    if element == "tf32":
        return f"{place}\n    %m{i} = {load}\n    %a{i} = arith.truncf %m{i} : {sized('f32')} to {sized('tf32')}"
    bits = f"i{FLOAT_FORMATS[element].width}"
    cut = "arith.bitcast" if bits == plain else "arith.trunci"
    return f"""{place}
    %m{i} = {load}
    %c{i} = {cut} %m{i} : {sized(plain)} to {sized(bits)}
    %a{i} = arith.bitcast %c{i} : {sized(bits)} to {sized(element)}"""


def _write(i: int, element: str, sized: Callable[[str], str]) -> str:
    plain = _plain(element)
    place = _place(f"out{i}", element)
    store = f"llvm.store %s{i}, %out{i}.at {{alignment = 1 : i64}} : {sized(plain)}, !llvm.ptr"
    if element == plain:
        return place + "\n    " + store.replace("%s", "%r")
    if element == "tf32":
        return f"{place}\n    %s{i} = arith.extf %r{i} : {sized('tf32')} to {sized('f32')}\n    {store}"
    bits = f"i{FLOAT_FORMATS[element].width}"
    grow = "arith.bitcast" if bits == plain else "arith.extui"
    return f"""{place}
    %b{i} = arith.bitcast %r{i} : {sized(element)} to {sized(bits)}
    %s{i} = {grow} %b{i} : {sized(bits)} to {sized(plain)}
    {store}"""
