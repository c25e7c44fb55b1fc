"""`cute.printf`: lines, whole tensors, and layouts with the numbers of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute import utils
from triptych.cute.runtime import from_dlpack
from triptych.layout import ProfileError


def printed(capfd: Any) -> list[str]:
    lines: list[str] = capfd.readouterr().out.splitlines()
    return lines


def test_every_call_is_a_line(capfd: Any) -> None:
    @tt.jit
    def talk(n: tt.Int32) -> None:
        cute.printf("plain")
        cute.printf("%d items", n)
        cute.printf("{} items\n", n)
        cute.printf("")
        cute.printf(n, 2.5)

    talk(3)
    assert printed(capfd) == ["plain", "3 items", "3 items", "", "3 2.500000"]


def test_layouts_have_the_numbers_of_the_run(capfd: Any) -> None:
    @tt.jit
    def show(n: tt.Int32) -> None:
        cute.printf("{} and {}", cute.make_layout((n, 2)), n)
        cute.printf("{}", cute.make_composed_layout(cute.make_swizzle(1, 0, 2), n, cute.make_layout((4, 2))))
        cute.printf("{}", cute.make_identity_layout((2, 3)))

    show(8)
    assert printed(capfd) == ["(8,2):(1,8) and 8", "S<1,0,2> o 8 o (4,2):(1,4)", "(2,3):(1@0,1@1)"]


def test_tensor_is_printed_whole(capfd: Any) -> None:
    @tt.jit
    def show(a: cute.Tensor, n: tt.Int32) -> None:
        cute.printf("{1} of {{{0}}}: {2} and {0:3d}", n, "a", a)
        cute.printf("value {}", a.load())
        cute.printf(a)

    show(from_dlpack(np.array([[1, 2, 3], [4, 5, 6]], np.int32)), 7)
    lines = printed(capfd)
    rows = ["  ( 1 2 3 )", "  ( 4 5 6 )"]
    assert lines[0] == "a of {7}: "
    assert lines[1].startswith("tensor<")
    assert lines[2:5] == [*rows, " and   7"]
    assert lines[5] == "value "
    assert lines[7:9] == rows
    assert lines[10:] == rows


def test_verbose_tensor_has_coordinates(capfd: Any) -> None:
    @tt.jit
    def show(a: cute.Tensor) -> None:
        cute.print_tensor(a, verbose=True)

    show(from_dlpack(np.array([[1.5, 2.5]], np.float32)))
    assert printed(capfd)[1:] == ["  ( 0 0 ) = 1.500000", "  ( 0 1 ) = 2.500000"]


def test_type_of_a_tensor_is_its_text(capsys: Any) -> None:
    @tt.jit
    def look(a: cute.Tensor) -> None:
        print(a.type)
        print(a)

    look(from_dlpack(np.zeros(4, np.int32)))
    first, second = capsys.readouterr().out.splitlines()
    assert first == second == "tensor<ptr<Int32, gmem, align<4>> o (4):(1)>"


# pictures ---------------------------------------------------------------------------------------------------------
def test_layout_is_a_document(capsys: Any) -> None:
    utils.print_latex(cute.make_layout((2, 3)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(r"\documentclass")
    assert lines[-1] == r"\end{document}"
    assert sum(line.startswith(r"\node[fill=") for line in lines) == 6


def test_threads_and_values_are_a_document(capsys: Any) -> None:
    @tt.jit
    def draw() -> None:
        threads, values = cute.make_ordered_layout((2, 4), order=(1, 0)), cute.make_layout((2, 1))
        tile, tv = cute.make_layout_tv(threads, values)
        utils.print_latex_tv(tv, tile)

    draw()
    text = capsys.readouterr().out
    assert text.count(r"\node[fill=") == 16
    assert "{T5 V1}" in text


def test_picture_has_two_directions() -> None:
    with pytest.raises(ProfileError, match="rows and columns"):
        utils.print_latex_tv(cute.make_layout((2, 2)), (4,))
