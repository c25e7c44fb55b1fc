"""Results of a compiled function: run-time numbers, aggregates of them, and what was known while tracing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from triptych.metastage import places
from triptych.metastage.aggregates import take_apart
from triptych.metastage.call_errors import ReturnValueError
from triptych.metastage.plans import describe
from triptych.metastage.scalars import Numeric, as_number
from triptych.stages import Leaf

Rebuild = Callable[[Iterator[Any]], Any]


def take_results(value: object, code: CodeType, path: str = "result") -> tuple[list[tuple[Leaf, Any]], Rebuild]:
    """The numbers that the function of `code` returns natively, and how Python makes the returned value of them."""
    value = as_number(value)
    if isinstance(value, Numeric):
        return [(Leaf(path, type(value).__name__), value.ir_value())], next
    if value is None or isinstance(value, bool | int | float | str):
        return [], lambda _: value
    parts = take_apart(value)
    if parts is None:
        raise ReturnValueError(
            f"a compiled function cannot return {describe(value)}",
            span=places.last_return(code),
            found=describe(value),
            expected="a number, or a tuple, NamedTuple or dataclass of numbers",
            instead="a tuple" if isinstance(value, list | dict) else "a tensor argument that the function writes to",
        )
    taken = [take_results(v, code, path + label) for v, label in zip(parts.values, parts.labels, strict=True)]
    rebuilds = [rebuild for _, rebuild in taken]
    whole = parts.rebuild
    return [leaf for leaves, _ in taken for leaf in leaves], lambda values: whole([r(values) for r in rebuilds])
