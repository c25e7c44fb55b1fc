"""The table of declared types: every place that declares one, every type, every kind of number that is given there.

Cells are traced and not compiled. The rule is written here once more, from the guide: a float takes the precision of
the type; nothing else may change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import triptych as tt
from tests.ir.traced import traced
from triptych import cute
from triptych.compat.mlir_builders.values import if_generate
from triptych.metastage.trace.trace import in_progress
from triptych.metastage.values.scalars import NUMERIC_CLASSES
from triptych.support.errors import TriptychError

LITERALS: tuple[Any, ...] = (True, False, 0, 1, -1, 7, 200, 70_000, 2**31, -(2**40), 2**70, 0.0, 2.75, 1e6, 1e39, 1e300)
LARGEST = {
    "Float64": math.inf,
    "Float32": (2 - 2**-23) * 2.0**127,
    "TFloat32": (2 - 2**-10) * 2.0**127,
    "BFloat16": (2 - 2**-7) * 2.0**127,
    "Float16": 65504.0,
}
"""Of the floats that hold more than the narrow ones."""
TYPES = tuple(name for name in NUMERIC_CLASSES if not name.startswith("Float") or name in LARGEST)
"""Types whose rule the guide tells; what narrow floats hold of a literal is the law of their formats."""


def _argument(decorate: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def give(dtype: Any, value: object) -> Any:
        def declared(x: Any) -> None:
            pass

        declared.__annotations__["x"] = dtype
        trace = in_progress()
        assert trace is not None
        function = decorate(declared)
        return trace.hooks.call(function, value)

    return give


def _default(dtype: Any, value: object) -> Any:
    def declared(x: Any = value) -> Any:
        return x

    declared.__annotations__["x"] = dtype
    trace = in_progress()
    assert trace is not None
    return trace.hooks.call(tt.jit(declared))


def _annotated(dtype: Any, value: object) -> Any:
    trace = in_progress()
    assert trace is not None
    return trace.hooks.annotate(value, lambda: dtype, "y")


def _element(dtype: Any, value: object) -> None:
    cute.make_rmem_tensor((2,), dtype)[0] = value


def _atomic(name: str, **others: Any) -> Callable[[Any, Any], Any]:
    def give(dtype: Any, value: object) -> Any:
        pointer = cute.make_rmem_tensor((1,), dtype).iterator
        return getattr(cute.arch, name)(pointer, value)

    return give


def _swapped(which: str) -> Callable[[Any, Any], Any]:
    def give(dtype: Any, value: object) -> Any:
        pointer = cute.make_rmem_tensor((1,), dtype).iterator
        operands: dict[str, Any] = {"cmp": 0, "val": 0, which: value}
        return cute.arch.atomic_cas(pointer, **operands)

    return give


def _first(dtype: Any, value: object) -> Any:
    return cute.full((2,), 0, dtype).reduce(cute.ReductionOp.MAX, value, 0)


PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "annotation": _annotated,
    "argument of a jit function": _argument(tt.jit),
    "default of a jit function": _default,
    "element": _element,
    "fill": lambda dtype, value: cute.make_rmem_tensor((2,), dtype).fill(value),
    "pointer": lambda dtype, value: cute.make_rmem_tensor((2,), dtype).iterator.store(value),
    "full": lambda dtype, value: cute.full((2,), value, dtype),
    "full_like": lambda dtype, value: cute.full_like(cute.full((2,), 0, dtype), value),
    "full_like of a type": lambda dtype, value: cute.full_like(cute.full((2,), 0, tt.Int32), value, dtype),
    "initial value of reduce": _first,
    "value of if_generate": lambda dtype, value: if_generate(True, lambda: value, lambda: value, None, [dtype]),
    **{f"atomic_{name}": _atomic(f"atomic_{name}") for name in ("add", "max", "min", "exch", "and", "or", "xor")},
    "atomic_cas, cmp": _swapped("cmp"),
    "atomic_cas, val": _swapped("val"),
}

CALLS = ("argument of a jit function", "default of a jit function")
CONVERSIONS = ("full", "full_like of a type")
"""Where a type is named for an int, which becomes what the type makes of it: its lower bits."""


@dataclass(frozen=True, slots=True)
class Cell:
    place: str
    dtype: str
    given: str
    expected: bool
    held: bool


def holds(dtype: str, given: Any) -> bool:
    """The rule: whether a type holds a Python number, or every number of the type of a run-time number."""
    target = NUMERIC_CLASSES[dtype]
    if isinstance(given, tt.Numeric):
        return _holds_all(target, type(given))
    if isinstance(given, float):
        return target.is_float and bool(math.isinf(given) or abs(given) <= LARGEST[dtype])
    if target.is_float:
        return bool(abs(given) <= LARGEST[dtype])
    low, high = (0, 1) if target is tt.Boolean else target.info.bounds
    return bool(low <= given <= high)


def _holds_all(target: Any, source: Any) -> bool:
    if target is source:
        return True
    if target.is_float:
        return source is not tt.Boolean
    if source.is_float or target is tt.Boolean:
        return False
    bounds = [(0, 1) if cls is tt.Boolean else cls.info.bounds for cls in (target, source)]
    return bounds[0][0] <= bounds[1][0] and bounds[1][1] <= bounds[0][1]


def cells(names: Sequence[str] = TYPES) -> list[Cell]:
    """The cells of these types, computed in one trace."""
    found: list[Cell] = []

    @tt.kernel(preprocessor=False)
    def body(n: tt.Int32) -> None:
        numbers = {name: n.to(NUMERIC_CLASSES[name]) for name in names}
        given = {**numbers, **{repr(value): value for value in LITERALS}}
        for place, give in PLACES.items():
            for name in names:
                found.extend(_row(place, give, name, numbers[name], given))

    @tt.jit(preprocessor=False)
    def launch(n: tt.Int32) -> None:
        cast(Any, body)(n).launch(grid=1, block=1)

    traced(launch, 3)
    return found


def _row(place: str, give: Callable[[Any, Any], Any], name: str, own: object, given: dict[str, Any]) -> Iterator[Cell]:
    dtype = NUMERIC_CLASSES[name]
    if not _is_taken(give, dtype, own):  # there is no such place for the type, as no atomics of Int8
        return
    counted = "Int32" if give is _first and name == "Boolean" else name  # a fold of truth values counts
    for text, value in given.items():
        is_held = holds(counted, value) or (place in CALLS and _goes_on(dtype, value))
        is_held = is_held or (place in CONVERSIONS and type(value) is int and _makes(dtype, value))
        yield Cell(place, name, text, is_held, _is_taken(give, dtype, value))


def _makes(dtype: Any, value: int) -> bool:
    """Whether `dtype(value)` is a number."""
    try:
        dtype(value)
    except (TriptychError, OverflowError):
        return False
    return True


def _goes_on(dtype: Any, value: object) -> bool:
    """Whether a call inside of a program passes a run-time number as it is: an integer keeps its value and its type."""
    return isinstance(value, tt.Numeric) and value.info.is_integer and dtype.info.is_integer


def _is_taken(give: Callable[[Any, Any], Any], dtype: Any, value: object) -> bool:
    try:
        give(dtype, value)
    except (TriptychError, OverflowError):
        return False
    return True
