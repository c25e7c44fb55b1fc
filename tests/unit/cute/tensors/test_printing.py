"""`cute.printf`: lines, whole tensors, and layouts with the numbers of the run."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.tools import needs_assembler
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
    rows = ["       [[ 1,  2,  3, ],", "        [ 4,  5,  6, ]])"]
    assert lines[0] == "a of {7}: "
    assert lines[1].startswith("tensor(raw_ptr(0x")
    assert lines[2:5] == [*rows, " and   7"]
    assert lines[5] == "value "
    assert lines[7:9] == rows
    assert lines[10:] == rows


def in_brackets(array: Any, indent: int = 7) -> str:
    """An oracle: the elements as `print_tensor` shows them, the last mode outermost, then rows of the first two."""

    def number(value: Any) -> str:
        return f"{value: f}, " if array.dtype.kind == "f" else f"{value: d}, "

    if array.ndim == 1:
        return (",\n" + " " * indent).join(f"[{number(value)}]" for value in array)
    if array.ndim == 2:
        rows = ["[" + "".join(map(number, row)) + "]" for row in array]
        return "[" + (",\n" + " " * (indent + 1)).join(rows) + "]"
    blocks = [in_brackets(array[..., index], indent + 1) for index in range(array.shape[-1])]
    return "[" + (",\n\n" + " " * (indent + 1)).join(blocks) + "]"


@tt.jit
def print_whole(a: cute.Tensor) -> None:
    cute.print_tensor(a)


@tt.jit
def print_verbose(a: cute.Tensor) -> None:
    cute.print_tensor(a, verbose=True)


PRINTED_ARRAYS = [
    np.arange(-2, 3, dtype=np.float32),
    np.arange(-6, 6, dtype=np.float64).reshape(3, 4) / 3,
    np.arange(24, dtype=np.float16).reshape(4, 3, 2) - 11,
    np.arange(-8, 8, dtype=np.int8).reshape(2, 2, 2, 2),
    np.arange(200, 206, dtype=np.uint8).reshape(2, 3),
    np.arange(2**63, 2**63 + 4, dtype=np.uint64),
]


@pytest.mark.parametrize("array", PRINTED_ARRAYS, ids=lambda array: f"{array.dtype}-{array.ndim}")
@pytest.mark.parametrize("dynamic", [False, True])
def test_elements_are_rows_in_brackets(array: Any, dynamic: bool, capfd: Any) -> None:
    tensor = from_dlpack(array)
    print_whole(tensor.mark_layout_dynamic() if dynamic else tensor)
    head, _, elements = capfd.readouterr().out.partition("\n")
    shape, stride = (",".join(map(str, sizes)) for sizes in (array.shape, np.array(array.strides) // array.itemsize))
    kind = {"f": "f", "i": "i", "u": "i"}[array.dtype.kind] + str(8 * array.itemsize)
    place = f"raw_ptr(0x{array.ctypes.data:016x}: {kind}, gmem, align<{array.itemsize}>)"
    assert head == f"tensor({place} o ({shape}):({stride}), data="
    assert elements == " " * 7 + in_brackets(array) + ")\n"


@pytest.mark.parametrize("array", PRINTED_ARRAYS, ids=lambda array: f"{array.dtype}-{array.ndim}")
def test_verbose_tensor_has_coordinates(array: Any, capfd: Any) -> None:
    print_verbose(from_dlpack(array))
    head, *lines = printed(capfd)
    assert head.endswith(", data= (")
    form = " f" if array.dtype.kind == "f" else " d"
    shown = [f"\t({','.join(map(str, coord))})={value:{form}}" for coord, value in np.ndenumerate(array)]
    assert lines == [*shown, ")"]


def test_registers_stay_registers_where_they_are_printed(capfd: Any) -> None:
    """An address would make memory of them, which matrix instructions cannot take."""

    @tt.jit
    def show() -> None:
        r = cute.make_rmem_tensor((2, 2), tt.Float16)
        r.fill(1.5)
        cute.print_tensor(r)

    assert "ptrtoint" not in tt.compile(show).mlir
    show()
    assert printed(capfd) == [
        "tensor(ptr(f16, rmem, align<16>) o (2,2):(1,2), data=",
        "       [[ 1.500000,  1.500000, ],",
        "        [ 1.500000,  1.500000, ]])",
    ]


def test_tensor_without_elements_has_no_rows(capfd: Any) -> None:
    print_whole(np.zeros((0, 3), np.float32))
    assert printed(capfd)[1:] == ["       [])"]


def test_printed_modes_inside_of_modes(capfd: Any) -> None:
    @tt.jit
    def show() -> None:
        cute.print_tensor(cute.make_identity_tensor(((2, 1), 2)))
        cute.print_tensor(cute.make_identity_tensor(((2, 1), 2)), verbose=True)

    show()
    assert printed(capfd) == [
        "tensor(((0,0),0) o ((2,1),2):((1@0@0,1@1@0),1@1), data=",
        "       [[((0,0),0), ((0,0),1), ],",
        "        [((1,0),0), ((1,0),1), ]])",
        "tensor(((0,0),0) o ((2,1),2):((1@0@0,1@1@0),1@1), data= (",
        *(f"\t{coord}={coord}" for coord in ("((0,0),0)", "((0,0),1)", "((1,0),0)", "((1,0),1)")),
        ")",
    ]


def test_numeric_class_is_printed_as_its_name(capsys: Any) -> None:
    print(tt.Int32, f"{tt.Float8E4M3FN}", [tt.Boolean])
    assert capsys.readouterr().out == "Int32 Float8E4M3FN [<class 'triptych.Boolean'>]\n"


def test_type_of_a_tensor_is_its_text(capsys: Any) -> None:
    @tt.jit
    def look(a: cute.Tensor) -> None:
        print(a.type)
        print(a)

    look(from_dlpack(np.zeros(4, np.int32)))
    first, second = capsys.readouterr().out.splitlines()
    assert first == second == "tensor<ptr<Int32, gmem, align<4>> o (4):(1)>"


@tt.kernel
def print_kernel(a: cute.Tensor) -> None:
    tile = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 8), cute.make_layout((2, 4)))
    thread = cute.arch.thread_idx()[0]
    tile[thread] = a[thread] - 3.5
    cute.arch.sync_threads()
    if thread == 5:
        cute.print_tensor(a, verbose=True)
        cute.print_tensor(tile)
        cute.print_tensor(tile.load())


@tt.jit
def print_launch(a: cute.Tensor) -> None:
    print_kernel(a).launch(grid=1, block=8)


@needs_assembler
def test_a_gpu_prints_what_the_cpu_prints(capfd: Any) -> None:
    array = np.arange(8, dtype=np.float32)
    print_launch(array)
    on_cpu = capfd.readouterr().out
    with numpy_gpu("sm_80") as driver:
        print_launch(array)
    addresses = re.compile(r"0x[0-9a-f]{16}")
    assert addresses.sub("", "".join(driver.gpu.printed)) == addresses.sub("", on_cpu)
    assert "[[-3.500000, -1.500000,  0.500000,  2.500000, ]," in on_cpu


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
