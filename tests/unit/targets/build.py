"""Compiling MLIR text for the CPU target in one call, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.modules import SerializedModule
from triptych.objectstage.codegen import codegen, load
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, find_target
from triptych.stages import Leaf, Loaded, Lowered, Traced
from triptych.targets.cpu.calling.scalars import SCALARS

CPU = find_target("cpu")


def traced(
    text: str, parameters: Mapping[str, str], results: tuple[str, ...] = (), *, name: str = "f", loops: bool = False
) -> Traced:
    """A module of MLIR text as the meta-stage would hand it over; `parameters` maps paths to DSL types."""
    module = bindings.mlir().Module.parse(text, context=context())
    return Traced(
        name=name,
        module=SerializedModule(module),
        parameters=tuple(Leaf(path, dtype) for path, dtype in parameters.items()),
        results=tuple(Leaf(f"result{i}", dtype) for i, dtype in enumerate(results)),
        loops=loops,
    )


def lowered(text: str, parameters: Mapping[str, str], results: tuple[str, ...] = (), **facts: Any) -> Lowered:
    return lower(traced(text, parameters, results, **facts), CPU)


def loaded(
    text: str, parameters: Mapping[str, str], results: tuple[str, ...] = (), *, opt_level: int = 3, **facts: Any
) -> Loaded:
    compiled = codegen(lowered(text, parameters, results, **facts), CPU, CompileOptions(opt_level))
    return load(compiled, CPU)


def function(
    text: str, parameters: Mapping[str, str], results: tuple[str, ...] = (), **facts: Any
) -> Callable[..., Any]:
    return loaded(text, parameters, results, **facts).call


@cache
def identity(dtype: str, opt_level: int = 3) -> Callable[..., Any]:
    """A function that returns its argument: shows what crosses the boundary."""
    kind = SCALARS[dtype].traced
    text = f"func.func @f(%x: {kind}) -> {kind} {{ return %x : {kind} }}"
    return function(text, {"x": dtype}, (dtype,), opt_level=opt_level)
