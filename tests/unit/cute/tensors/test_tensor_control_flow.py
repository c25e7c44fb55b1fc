"""Pointers, tensors and layouts are values: they cross branches, loops, calls and launches as what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.array_memory import GMEM, address, over
from triptych import cute
from triptych.metastage.trace.errors import CarriedTypeError, JoinTypeError

NUMBERS = np.arange(64, dtype=np.float32)


def test_a_pointer_moves_in_a_loop() -> None:
    @tt.jit
    def total(a: tt.Int64, n: tt.Int32) -> Any:
        here = cute.make_ptr(tt.Float32, a, GMEM)
        found = 0.0
        for _ in range(n):
            found += cute.make_tensor(here, cute.make_layout((1,)))[0]
            here = here + 2
        return found

    assert total(address(NUMBERS), 5) == 0 + 2 + 4 + 6 + 8


def test_a_tensor_chosen_by_a_branch() -> None:
    @tt.jit
    def choose(a: tt.Int64, m: tt.Int32, n: tt.Int32, first: tt.Boolean) -> Any:
        rows, columns = over(a, cute.make_layout((m, 4))), over(a, cute.make_layout((n, 4)))
        chosen = rows if first else columns
        return chosen[1, 2], cute.size(chosen)

    assert choose(address(NUMBERS), 5, 7, True) == (11.0, 20)
    assert choose(address(NUMBERS), 5, 7, False) == (15.0, 28)


def test_a_tensor_moves_in_a_while_loop() -> None:
    @tt.jit
    def find(a: tt.Int64, n: tt.Int32, wanted: tt.Float32) -> Any:
        window = over(a, cute.make_layout((n,)))
        steps = 0
        while window[0] < wanted:
            window = cute.domain_offset((1,), window)
            steps += 1
        return steps, window[1]

    assert find(address(NUMBERS), 10, 6.0) == (6, 7.0)


def test_what_was_declared_is_still_known_on_the_other_side() -> None:
    @tt.jit
    def declared(a: tt.Int64, n: tt.Int32, again: tt.Boolean) -> Any:
        t = over(a, cute.make_layout((cute.assume(n, 8), 2)), tt.Float32, 16)
        if again:
            t = cute.domain_offset((8, 0), t)
        assert str(t.layout) == "(?{div=8},2):(1,?{div=8})"
        assert t.iterator.alignment == 16
        return t[0, 1]

    assert declared(address(NUMBERS), 16, True) == 24.0
    assert declared(address(NUMBERS), 16, False) == 16.0


def test_a_layout_crosses_as_the_numbers_inside_it() -> None:
    @tt.jit
    def index(n: tt.Int32, wide: tt.Boolean, i: tt.Int32) -> Any:
        layout = cute.make_layout((n, 4))
        if wide:
            layout = cute.make_layout((n + 3, 4))
        static = cute.make_layout((4, 2))
        for _ in range(2):
            static = cute.make_layout((4, 2))
        return cute.crd2idx((0, i), layout), cute.crd2idx((0, 1), static)

    assert index(5, True, 2) == (16, 4)
    assert index(5, False, 2) == (10, 4)


def test_a_placeholder_where_no_tensor_is_assigned() -> None:
    @tt.jit
    def maybe(a: tt.Int64, n: tt.Int32) -> Any:
        found = 0.0
        for i in range(n):
            t = over(a, cute.make_layout((n, 2)))
            found = t[i, 1]
        return found

    assert maybe(address(NUMBERS), 3) == 5.0


def test_a_tensor_of_another_layout_is_refused_at_the_join() -> None:
    @tt.jit
    def choose(a: tt.Int64, first: tt.Boolean) -> Any:
        t = over(a, cute.make_layout((4, 4)))
        if first:
            t = over(a, cute.make_layout((4, 4), stride=(4, 1)))
        return t[0]

    with pytest.raises(JoinTypeError, match=r"(?s)\(4,4\):\(4,1\).*\(4,4\):\(1,4\)"):
        choose(0, True)


def test_a_loop_cannot_lower_an_alignment() -> None:
    @tt.jit
    def move(a: tt.Int64, n: tt.Int32) -> None:
        here = cute.make_ptr(tt.Float32, a, GMEM, assumed_align=16)
        for _ in range(n):
            here = here + 1

    with pytest.raises(CarriedTypeError, match=r"(?s)align<16>.*align<4>"):
        move(0, 1)


def test_tensors_go_through_calls_and_containers() -> None:
    def last(pair: Any) -> Any:
        tensor, index = pair
        return tensor[index]

    @tt.jit
    def read(a: tt.Int64, n: tt.Int32) -> Any:
        pair = (over(a, cute.make_layout((n,))), n - 1)
        if n > 3:
            pair = (pair[0], n - 2)
        return last(pair)

    assert read(address(NUMBERS), 8) == 6.0


def test_a_tensor_is_rebuilt_in_a_kernel() -> None:
    @tt.kernel
    def scale(t: cute.Tensor, layout: Any, by: tt.Float32) -> None:
        thread, _, _ = cute.arch.thread_idx()
        if thread < cute.size(t):
            t[thread] = t[thread] * by + cute.crd2idx((0, 1), layout)

    @tt.jit
    def launch(a: tt.Int64, n: tt.Int32) -> None:
        scale(over(a, cute.make_layout((n, 2))), cute.make_layout((n, 2)), 2.0).launch(grid=1, block=32)

    module = tt.compile(launch, 0, 1).mlir
    assert "gpu.func @scale" in module
    numbers = np.arange(16, dtype=np.float32)
    launch(address(numbers), 5)
    assert (numbers[:10] == np.arange(10) * 2 + 5).all()
    assert (numbers[10:] == np.arange(10, 16)).all()
