"""Meta-stage, tensors as text when the program runs: one line for each row, matrices one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.cute.dynamic.integers import ints, numbers
from triptych.cute.tensors.factories import make_rmem_tensor
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tensors.value import TensorSSA
from triptych.cute.tracing.current_trace import tracing
from triptych.hooks import ignore_values, no_values
from triptych.layout import IntTuple, group_modes, idx2crd, rank, size
from triptych.metastage.calls.printing import printf
from triptych.metastage.values.binding_time import Range
from triptych.metastage.values.scalars import Float32, Float64, Numeric


def print_tensor(tensor: Tensor | TensorSSA, *, verbose: bool = False) -> None:
    """Print the layout now known and the elements of the run. The first mode goes down, the second across.

    With `verbose` every element stands on a line of its own, after its coordinate.
    """
    if isinstance(tensor, TensorSSA):
        stored = make_rmem_tensor(tensor.shape, tensor.dtype)
        stored.store(tensor)
        tensor = stored
    printf(_literal(f"{tensor} =\n"))
    modes = rank(tensor.layout)
    if verbose:
        _repeat(size(tensor.layout), lambda index: _located(tensor, index))
        return
    if modes == 1:
        _row(lambda column: tensor[column], size(tensor.layout))
    elif modes == 2:
        _matrix(tensor)
    else:
        stacked = Tensor(tensor.iterator, group_modes(tensor.layout, 2, modes))
        _repeat(size(stacked.layout[2]), lambda index: _numbered_matrix(stacked, index))


def _located(tensor: Tensor, index: object) -> None:
    printf(" ")
    _element(numbers(idx2crd(ints(index), tensor.layout.shape)))
    printf(" =")
    _element(tensor[index])
    printf("\n")


def _numbered_matrix(stacked: Tensor, index: object) -> None:
    printf(_literal(f"({'_,_,'}") + "%d):\n", index)
    _matrix(stacked[None, None, index])


def _matrix(matrix: Tensor) -> None:
    columns = size(matrix.layout[1])
    _repeat(size(matrix.layout[0]), lambda row: _row(lambda column: matrix[row, column], columns))


def _row(element: Callable[[Any], Any], count: IntTuple) -> None:
    printf("  (")
    _repeat(count, lambda column: _element(element(column)))
    printf(" )\n")


def _element(value: object) -> None:
    if isinstance(value, tuple):
        printf(" (")
        for part in value:
            _element(part)
        printf(" )")
    elif isinstance(value, Numeric) and value.info.kind == "float":
        printf(" %f", value if type(value) in (Float32, Float64) else value.to(Float32))
    else:
        printf(" %d", value)


def _repeat(count: IntTuple, body: Callable[[Any], None]) -> None:
    tracing().hooks.for_(Range(numbers(count)), body, (), (), no_values, ignore_values)


def _literal(text: str) -> str:
    return text.replace("%", "%%")
