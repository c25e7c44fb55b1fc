"""Binding time: whether something is decided while tracing (static) or at run time (dynamic)."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, SupportsIndex, TypeVar, Union, get_args, get_origin

from triptych.metastage.trace.errors import StaticRequiredError
from triptych.metastage.trace.trace import active, place
from triptych.metastage.values.scalars import Boolean, Numeric, as_number
from triptych.metastage.values.truth import is_dynamic, require_static

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
    return require_static(value, "const_expr(...)", "the plain condition, which is then decided at run time")


def dynamic_expr(value: object) -> Any:
    """`value` as a run-time value, so that both sides of a condition are compiled."""
    if isinstance(value, bool) and active() is not None:
        return Boolean(value)
    return value


class Range:
    """`range(start, stop, step)` as a loop at run time, with hints for the compiler; bounds may be run-time values.

    `unroll=n` writes n iterations in a row (1: none), `unroll_full=True` runs the loop while tracing, so that no loop
    is left. `prefetch_stages` is accepted and changes nothing: copies ahead of their use are written with a pipeline.
    """

    __slots__ = ("hints", "is_backward", "start", "step", "stop", "unroll_full")

    def __init__(
        self,
        *bounds: object,
        unroll: int = 0,
        unroll_full: bool = False,
        prefetch_stages: int = 0,
        vectorize: bool = False,
    ) -> None:
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
