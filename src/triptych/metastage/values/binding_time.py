"""Binding time: whether something is decided while tracing (static) or at run time (dynamic)."""

from __future__ import annotations

import builtins
import difflib
import sys
from collections.abc import Iterator, Sequence
from types import GenericAlias, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ForwardRef,
    Generic,
    SupportsIndex,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
)
from weakref import WeakKeyDictionary

from triptych.metastage.trace.checks import warn_here
from triptych.metastage.trace.errors import StaticRequiredError
from triptych.metastage.trace.trace import active, place
from triptych.metastage.values.aggregates import describe
from triptych.metastage.values.numeric import is_number_class, trace_of
from triptych.metastage.values.scalars import Boolean, Numeric, as_number


def is_dynamic(value: object) -> TypeGuard[Numeric]:
    """Whether `value` is known only at run time."""
    return isinstance(value, Numeric) and value.is_dynamic


def condition(value: object) -> bool | Boolean:
    """What a test decides by: Python's own truth, or a run-time Boolean."""
    value = as_number(value)
    if is_dynamic(value):
        return value.to(Boolean)
    return bool(value)


def truth(value: object) -> Boolean:
    """The truth of a value as a run-time Boolean."""
    known = condition(value)
    return known if isinstance(known, Boolean) else Boolean(known)


N = TypeVar("N", bound=Numeric)
_TRUTHS = "known truths"
"""Run-time Booleans that were True or False in the program, by id (with the number, so that the id stays its own)."""


def with_truth(number: N, truth: bool) -> N:
    """A run-time Boolean that is known all the same: branches on it are compiled, `const_expr` decides by it."""
    trace_of(number).tables[_TRUTHS][id(number)] = number, truth
    return number


def known_truth(value: Numeric) -> bool | None:
    """What a run-time Boolean is, where the program said so itself."""
    known = trace_of(value).tables[_TRUTHS].get(id(value))
    return None if known is None else known[1]


def negated(truth: bool | Boolean) -> bool | Boolean:
    """`not` of what a test decides by."""
    if not isinstance(truth, Boolean):
        return not truth
    known = known_truth(truth)
    return truth ^ True if known is None else with_truth(truth ^ True, not known)


def require_static(value: object, use: str, instead: str) -> Any:
    """`value`, which must be known while tracing."""
    if is_dynamic(value):
        raise StaticRequiredError(
            f"{use} needs a value that is known while the function is traced",
            span=place(),
            found=f"a run-time {describe(value)}",
            expected="a Python value or a Constexpr argument",
            instead=instead,
        )
    return value


T = TypeVar("T")


if TYPE_CHECKING:
    Constexpr = Annotated[T, "static"]  # to a type checker, `n: Constexpr[int]` is an int
else:

    class Constexpr(Generic[T]):
        """Annotation of arguments and variables that are part of the program: `n: Constexpr`, `Constexpr[int]`."""

        __module__ = "triptych"


class StaticIntegers:
    """Mark in an annotation, `Annotated[..., STATIC_INTEGERS]`: Python ints in the argument are part of the program.

    What is no Python int, such as an Int32 or a tensor, is what it would be without the mark.
    """

    def __repr__(self) -> str:
        return "STATIC_INTEGERS"


STATIC_INTEGERS = StaticIntegers()


def keeps_integers(annotation: object) -> bool:
    """Whether an annotation, or one alternative of it (`Shape | None`), has the mark."""
    if any(mark is STATIC_INTEGERS for mark in getattr(annotation, "__metadata__", ())):
        return True
    return get_origin(annotation) in (Union, UnionType) and any(map(keeps_integers, get_args(annotation)))


def const_expr(value: object) -> Any:
    """`value`, which must be known while tracing: an `if const_expr(...)` leaves only the taken side in the code."""
    truth = known_truth(value) if is_dynamic(value) else None
    if truth is not None:
        return truth
    return require_static(value, "const_expr(...)", "the plain condition, which is then decided at run time")


def dynamic_expr(value: object) -> Any:
    """`value` as a run-time value, so that both sides of a condition are compiled."""
    if isinstance(value, bool) and active() is not None:
        return Boolean(value)
    return value


_HINTS = ("unroll", "unroll_full", "prefetch_stages", "vectorize")


class Range:
    """`range(start, stop, step)` as a loop at run time, with hints for the compiler; bounds may be run-time values.

    `unroll=n` writes n iterations in a row (1: none), `unroll_full=True` runs the loop while tracing, so that no loop
    is left. `prefetch_stages` is accepted and changes nothing: copies ahead of their use are written with a pipeline.
    So does a hint of another name, with a warning.
    """

    __slots__ = ("hints", "is_backward", "start", "step", "stop", "unroll_full")

    def __init__(
        self,
        *bounds: object,
        unroll: int = 0,
        unroll_full: bool = False,
        prefetch_stages: int = 0,
        vectorize: bool = False,
        **unknown: object,
    ) -> None:
        for name in unknown:
            likely = difflib.get_close_matches(name, _HINTS, 1)
            meant = f"; did you mean `{likely[0]}`?" if likely else ""
            warn_here(f"a loop has no hint `{name}`: it changes nothing{meant}")
        if not 1 <= len(bounds) <= 3:
            raise TypeError(f"range expected 1 to 3 arguments, got {len(bounds)}")
        bounds = tuple(map(as_number, bounds))
        self.start: Any = bounds[0] if len(bounds) > 1 else 0
        self.stop: Any = bounds[1] if len(bounds) > 1 else bounds[0]
        self.step: Any = bounds[2] if len(bounds) > 2 else 1
        if not isinstance(self.step, Numeric) and self.step == 0:
            raise ValueError("range() arg 3 must not be zero")
        self.unroll_full = unroll_full
        self.is_backward = False
        """Whether the items come from the last to the first."""
        given = {"unroll": unroll, "prefetch_stages": prefetch_stages, "vectorize": int(vectorize)}
        self.hints = tuple((name, value) for name, value in given.items() if value)

    def __repr__(self) -> str:
        hints = "".join(f", {name}={value}" for name, value in self.hints) + ", unroll_full=True" * self.unroll_full
        shown = f"range({self.start}, {self.stop}, {self.step}{hints})"
        return f"reversed({shown})" if self.is_backward else shown

    @property
    def is_static(self) -> bool:
        """Whether its bounds are known while tracing."""
        return not any(is_dynamic(bound) for bound in (self.start, self.stop, self.step))

    def backward(self) -> Range:
        """`reversed(range(...))`."""
        turned = Range(self.start, self.stop, self.step, unroll_full=self.unroll_full)
        turned.hints, turned.is_backward = self.hints, not self.is_backward
        return turned

    def static(self) -> builtins.range:
        """The same range in Python; run-time bounds are an error."""
        bounds = (self.start, self.stop, self.step)
        for bound in bounds:
            require_static(bound, "unrolling a range", "`for i in range(...)`, which loops at run time")
        items = builtins.range(*bounds)
        return items[::-1] if self.is_backward else items

    def __iter__(self) -> Iterator[Any]:
        """Plain Python iteration: in a comprehension, or where nothing is traced."""
        if not self.is_static:
            raise StaticRequiredError(
                "a range with run-time bounds can only be looped over by a `for` statement",
                span=place(),
                found="iteration while tracing (a comprehension, `list(...)`, `sum(...)`, `enumerate`, unpacking)",
                expected="bounds that are known while tracing",
                instead="`for i in range(n):` in a function decorated with `@jit`",
            )
        return iter(self.static())


def range_constexpr(*bounds: SupportsIndex) -> list[int]:
    """`range` run by Python while tracing: the loop is unrolled. Run-time bounds are an error."""
    for bound in bounds:
        require_static(bound, "range_constexpr(...)", "`range(...)`, which loops at run time, or a Constexpr argument")
    return list(builtins.range(*bounds))


_OF_CLASSES: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


def is_annotation_of_parts(annotation: object) -> TypeGuard[GenericAlias]:
    """Whether an annotation says what the items of a tuple or list are; `typing.Tuple[...]` is a class of its own."""
    return get_origin(annotation) in (tuple, list)


def part_annotations(value: object, annotation: object, labels: Sequence[str]) -> list[Any]:
    """For each part of a value, by its label, what is said of it: a number type, `Constexpr`, `STATIC_INTEGERS`, an
    annotation of its own parts, or None."""
    if isinstance(value, tuple | list) and not hasattr(type(value), "_fields"):
        if annotation is STATIC_INTEGERS:
            return [annotation] * len(labels)
        said = _of_items(annotation, len(labels)) if is_annotation_of_parts(annotation) else []
        found = said if len(said) == len(labels) else [None] * len(labels)
    else:
        fields = _of_class(type(value))
        found = [fields.get(label.removeprefix(".")) for label in labels]
    return [_meaning(one) for one in found]


def _meaning(annotation: object) -> Any:
    if annotation is Constexpr or getattr(annotation, "__origin__", None) is Constexpr:
        return Constexpr
    if keeps_integers(annotation):
        return STATIC_INTEGERS
    return annotation if is_number_class(annotation) or is_annotation_of_parts(annotation) else None


def _of_items(annotation: GenericAlias, count: int) -> list[Any]:
    said = list(get_args(annotation))  # none of a bare `typing.Tuple`
    if get_origin(annotation) is list:
        return said * count
    return said[:1] * count if said[1:] == [...] else said


def _of_class(cls: type) -> dict[str, Any]:
    """By field, of the class and its bases. What cannot be looked up says nothing."""
    if cls not in _OF_CLASSES:
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            names = vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
            for field, annotation in vars(base).get("__annotations__", {}).items():
                found[field] = _resolved(annotation, names)
        _OF_CLASSES[cls] = found
    return _OF_CLASSES[cls]


def _resolved(annotation: object, names: dict[str, Any]) -> Any:
    try:
        while isinstance(annotation, str | ForwardRef):
            annotation = eval(annotation if isinstance(annotation, str) else annotation.__forward_arg__, dict(names))
    except Exception:  # a name of a function's own scope, or one for type checkers only
        return None
    return annotation
