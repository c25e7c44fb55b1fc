"""Running a function of a tensor value on numbers of the test, without memory in between.

Input: a Python function of tensors, and the elements of each. Output: the elements of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import triptych as tt
from triptych.cute.tensors.value import TensorSSA
from triptych.metastage.values.scalars import Numeric


def evaluated(
    function: Callable[..., Any],
    *tensors: tuple[Sequence[Any], Any, type[Numeric]],
) -> list[Any]:
    """The elements of `function(...)` on tensors given as elements, shape and type; floats widened to Float64."""

    def run(elements: Any) -> Any:
        made = [
            TensorSSA.from_elements(numbers, dtype, shape)
            for numbers, (_, shape, dtype) in zip(elements, tensors, strict=True)
        ]
        result = function(*made)
        return tuple(map(_returned, _elements(result)))

    compiled: Any = tt.jit(run)
    return list(compiled(tuple(tuple(numbers) for numbers, _, _ in tensors)))


def _elements(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return [element for part in result for element in _elements(part)]
    return [result[i] for i in range(result.size)] if isinstance(result, TensorSSA) else [result]


def _returned(element: Any) -> Any:
    is_float = isinstance(element, Numeric) and element.info.kind == "float"
    return element.to(tt.Float64) if is_float else element
