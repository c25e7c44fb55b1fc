"""Signatures of operators: what a framework is told of a `@jit` function, from its parameters.

Input: the annotations of the function, which parameters are results and which tensors are written. Output: the
parameters with their types in the words of PyTorch's schemas.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from triptych.cute.tensors.tensor import Tensor
from triptych.diagnostics.tensor_errors import OperatorDeclarationError
from triptych.driver.jitting import JitFunction
from triptych.interop.streams import is_stream_class
from triptych.metastage.values.binding_time import Constexpr
from triptych.metastage.values.scalars import Boolean, Numeric, is_number_class, numeric_class
from triptych.support.dataclass import dataclass
from triptych.support.source import Span
from triptych.support.wording import did_you_mean

Allocation = str | Callable[..., Any]
"""How a result is made: like the tensor of that name, or what a function of parameters returns."""

Annotation: TypeAlias = Any
"""What a parameter is annotated with is anything."""

_PYTHON = {int: "int", float: "float", bool: "bool", str: "str"}
TENSORS = ("Tensor", "Tensor?")
SYMBOLIC = "SymInt"
"""An integer that compiled code takes: torch's compilers need not make a graph for each of its values."""


@dataclass(frozen=True, slots=True)
class OperatorParameter:
    """A parameter of the function. `kind` is its type in a schema, empty for a stream, which torch gives."""

    name: str
    kind: str
    default: Any = inspect.Parameter.empty
    is_keyword: bool = False
    """Whether the function takes it by its name only."""

    def text(self, writes: bool, index: int) -> str:
        """Its words in a schema."""
        kind = self.kind.replace("Tensor", f"Tensor(a{index}!)") if writes else self.kind
        default = "" if self.default is inspect.Parameter.empty else f"={_literal(self.default)}"
        return f"{kind} {self.name}{default}"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def operator_parameters(function: JitFunction, span: Span | None) -> tuple[OperatorParameter, ...]:
    """All parameters of a function, in their order."""
    written = inspect.signature(function.function, eval_str=True, follow_wrapped=False).parameters.values()
    return tuple(_parameter(each, span) for each in written)


def _parameter(given: inspect.Parameter, span: Span | None) -> OperatorParameter:
    kind = None if given.kind in (given.VAR_POSITIONAL, given.VAR_KEYWORD) else _kind(given.annotation)
    if kind is None:
        missing = given.annotation is given.empty
        raise OperatorDeclarationError(
            f"the type of the parameter `{given.name}` has no word in an operator's schema",
            span=span,
            found="a parameter without an annotation" if missing else f"`{given}`",
            expected="cute.Tensor, a number type, int, float, bool, or a Constexpr of int, float, bool or str",
            instead=f"`{given.name}: cute.Tensor`" if missing else "a function of such parameters that calls this one",
        )
    return OperatorParameter(given.name, kind, given.default, given.kind is given.KEYWORD_ONLY)


def _kind(annotation: Annotation) -> str | None:
    origin: Any = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        inner = [each for each in typing.get_args(annotation) if each is not type(None)]
        kind = _kind(inner[0]) if len(inner) == 1 else None
        return f"{kind}?" if kind and not kind.endswith("?") else None
    if getattr(annotation, "__origin__", None) is Constexpr:
        return _PYTHON.get(typing.get_args(annotation)[0])
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, Tensor):
        return "Tensor"
    if annotation in (int, float, bool):
        return SYMBOLIC if annotation is int else _PYTHON[annotation]
    if is_number_class(annotation):
        return _number(numeric_class(annotation))
    return "" if is_stream_class(annotation) else None


def _number(kind: type[Numeric]) -> str:
    if kind is Boolean:
        return "bool"
    return SYMBOLIC if kind.__name__.startswith(("Int", "Uint")) else "float"


@dataclass(frozen=True, slots=True)
class OperatorSignature:
    """An operator: its parameters, how its results are made, and which of its tensors the program writes."""

    name: str
    parameters: tuple[OperatorParameter, ...]
    results: Mapping[str, Allocation]
    written: tuple[str, ...]

    @property
    def given(self) -> tuple[OperatorParameter, ...]:
        """What a call gives: everything but results and streams."""
        return tuple(each for each in self.parameters if each.kind and each.name not in self.results)

    @property
    def is_differentiable(self) -> bool:
        """Whether PyTorch can have gradients of it: operators that only make new tensors."""
        return bool(self.results) and not self.written

    @property
    def schema(self) -> str:
        """As PyTorch writes it."""
        texts = [each.text(each.name in self.written, i) for i, each in enumerate(self.given)]
        results = ", ".join(["Tensor"] * len(self.results))
        return f"{self.name}({', '.join(texts)}) -> {results if len(self.results) == 1 else f'({results})'}"


def check_signature(signature: OperatorSignature, span: Span | None) -> None:
    """Refuse results and written tensors that the function does not have."""
    tensors = [each.name for each in signature.parameters if each.kind in TENSORS]
    for what, named in (("out", list(signature.results)), ("mutates", list(signature.written))):
        for name in named:
            _require(name, tensors, f"`{what}` names `{name}`, which is no tensor of the function", span)
    for name in signature.written:
        if name in signature.results:
            raise OperatorDeclarationError(
                f"`{name}` is a result, which the operator makes, and named as one that a call gives",
                span=span,
                found=f"out={{{name!r}: ...}} and mutates=({name!r},)",
                expected="each tensor in one of them",
            )
    given = [name for name in tensors if name not in signature.results]
    names = [each.name for each in signature.given]
    for result, allocation in signature.results.items():
        if isinstance(allocation, str):
            _require(allocation, given, f"the result `{result}` is like `{allocation}`, which no call gives", span)
        elif callable(allocation):
            for name in inspect.signature(allocation).parameters:
                _require(name, names, f"what makes the result `{result}` takes `{name}`, which no call gives", span)
        else:
            raise OperatorDeclarationError(
                f"this does not say how the result `{result}` is made",
                span=span,
                found=f"an object of type {type(allocation).__name__}",
                expected="the name of the tensor that it is like, or a function of parameters that returns a tensor",
                instead=f'`out={{"{result}": "{given[0]}"}}`' if given else "a function that makes it",
            )


def _require(name: str, known: Sequence[str], message: str, span: Span | None) -> None:
    if name not in known:
        raise OperatorDeclarationError(
            message,
            span=span,
            found=f"`{name}`",
            expected=", ".join(known) or "a function with tensors",
            instead=did_you_mean(name, list(known)),
        )
