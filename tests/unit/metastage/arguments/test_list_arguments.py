"""Lists as arguments from Python: as fixed as tuples, and lists inside."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from triptych import cute
from triptych.diagnostics.runtime_errors import ArgumentTypeError
from triptych.metastage.trace.errors import ArgumentKindError, DynamicMutationError


@tt.jit
def total(numbers: Any) -> Any:
    assert type(numbers) is list
    result = numbers[0]
    for number in numbers[1:]:
        result = result + number
    return result


@examples(20)
@given(st.lists(st.integers(-1000, 1000) | st.floats(-1000, 1000, width=16), min_size=1, max_size=4))
def test_every_length_and_kind_has_its_own_code(numbers: list[float]) -> None:
    expected = reduce(add, numbers)
    found = total(numbers)
    assert type(found) is type(expected)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-2)


def test_tensors_and_numbers_beside_tuples() -> None:
    @tt.jit
    def fill(tensors: list[cute.Tensor], given: Any) -> None:
        for tensor, value in zip(tensors, given[0], strict=True):
            tensor[given[1]] = value

    tensors = [np.zeros(3, np.int32) for _ in range(2)]
    fill(tensors, ([4, 5], 1))
    fill(tensors, ([6, 7], 2))
    assert [tensor.tolist() for tensor in tensors] == [[0, 4, 6], [0, 5, 7]]


@tt.jit
def assign(numbers: Any) -> Any:
    numbers[0] = 5


@tt.jit
def extend(numbers: Any) -> Any:
    numbers += [5]


@tt.jit
def shorten(numbers: Any) -> Any:
    del numbers[0]


@tt.jit
def append(numbers: Any) -> Any:
    numbers.append(5)


@pytest.mark.parametrize("change", [assign, extend, shorten, append], ids=lambda function: str(function.__name__))
def test_a_change_that_the_caller_would_not_see_is_refused(change: Any) -> None:
    with pytest.raises(DynamicMutationError, match="a list that is an argument"):
        change([1, 2])


def test_a_copy_may_be_changed() -> None:
    @tt.jit
    def changed(numbers: Any) -> Any:
        own = list(numbers)
        own[0] += 5
        own.append(1)
        return own[0] + own[-1]

    numbers = [1, 2]
    assert changed(numbers) == 7
    assert numbers == [1, 2]


def test_a_list_of_what_cannot_be_passed_is_refused() -> None:
    with pytest.raises(ArgumentKindError, match=r"`numbers\[1\]`"):
        total([1, "two"])


@pytest.mark.parametrize("other", [[1], [1, 2, 3], (1, 2), 1], ids=repr)
def test_compiled_code_refuses_what_is_made_in_another_way(other: Any) -> None:
    compiled = tt.compile(total, [1, 2])
    assert compiled([3, 4]) == 7
    with pytest.raises(ArgumentTypeError, match="list of 2"):
        compiled(other)
