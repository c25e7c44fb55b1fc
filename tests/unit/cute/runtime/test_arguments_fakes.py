"""Compiling for tensors that do not exist yet, and pointers as arguments."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import make_fake_compact_tensor, make_fake_tensor, make_ptr, nullptr
from triptych.cute.tracing.errors import FakeTensorError, PointerArgumentError, UndeterminedSymbolError
from triptych.diagnostics.runtime_errors import ArgumentTypeError
from triptych.diagnostics.tensor_errors import ArgumentTensorError


@tt.jit
def add_one(a: cute.Tensor, b: cute.Tensor) -> None:
    for i in range(a.shape[0]):
        b[i] = a[i] + 1.0


def aligned(extent: int, by: int = 0) -> Any:
    raw = np.zeros(4 * extent + 256, np.uint8)
    start = -raw.ctypes.data % 64 + by
    return raw[start : start + 4 * extent].view(np.float32)


@pytest.mark.parametrize("declare", [cute.sym_int, cute.sym_int32, cute.sym_int64, cute.SymInt])
def test_one_unknown_is_one_number_in_all_tensors(declare: Any) -> None:
    n = declare(divisibility=16)
    fakes = [make_fake_compact_tensor(tt.Float32, (n,), assumed_align=16) for _ in range(2)]
    compiled = tt.compile(add_one, *fakes)
    a, b = aligned(128), aligned(128)
    compiled(a, b)
    assert (b == 1).all()
    with pytest.raises(ArgumentTypeError, match="argument 'b' must be a tensor, not a value of type int"):
        compiled(a, 1)
    with pytest.raises(ArgumentTensorError) as caught:
        compiled(a, b[:112])
    assert caught.value.expected == "shape (128,), because b.shape[0] is a.shape[0]"
    with pytest.raises(ArgumentTensorError) as caught:
        compiled(a[:126], b[:126])
    assert caught.value.expected == f"a multiple of 16 from 0 to {2 ** (n.width - 1) - 1}"
    with pytest.raises(ArgumentTensorError, match="argument 'a' is not aligned"):
        compiled(aligned(128, by=4), b)


def test_every_unknown_without_a_name_is_another() -> None:
    for declare in (cute.sym_int, cute.SymInt):
        assert not declare().known_equal(declare())
    assert (cute.SymInt().width, cute.SymInt(64).width, cute.SymInt(divisibility=8).divisibility) == (32, 64, 8)
    with pytest.raises(ValueError, match="32 or 64 bits"):
        cute.SymInt(16)
    with pytest.raises(ValueError, match="positive divisibility"):
        cute.SymInt(divisibility=0)


def test_the_program_knows_what_is_declared() -> None:
    """The same unknown is the same value, and its divisibility is known to the algebra."""
    n = cute.sym_int(divisibility=8)

    @tt.jit
    def tiles(a: cute.Tensor, b: cute.Tensor) -> Any:
        more: tt.Constexpr[int] = a.layout.shape[0] - b.layout.shape[0]
        return cute.size(cute.zipped_divide(a, (4,)), mode=[1]) + more

    fakes = [make_fake_tensor(tt.Float32, (n,), (1,)) for _ in range(2)]
    compiled = tt.compile(tiles, *fakes)
    assert compiled(np.zeros(24, np.float32), np.zeros(24, np.float32)) == 6
    assert "cf.assert" not in compiled.mlir


def test_integers_that_others_decide() -> None:
    m, n = cute.sym_int(), cute.sym_int()

    @tt.jit
    def last(a: cute.Tensor, b: cute.Tensor) -> Any:
        return a[a.shape[0] - 1, a.shape[1] - 1]

    compiled = tt.compile(
        last,
        make_fake_tensor(tt.Float64, (m, n), (n, 1)),
        make_fake_tensor(tt.Float64, (m * n + 1, n // 2), (cute.sym_int64(divisibility=2), 1)),
    )
    a = np.arange(12.0).reshape(3, 4)
    assert compiled(a, np.zeros((13, 2))) == 11.0
    for b in (np.zeros((12, 2)), np.zeros((13, 3)), np.zeros((13, 3))[:, :2]):
        with pytest.raises(ArgumentTensorError, match="argument 'b'"):
            compiled(a, b)
    with pytest.raises(ArgumentTensorError, match="argument 'a' has another stride"):
        compiled(np.zeros((3, 8))[:, :4], np.zeros((13, 2)))


def test_fresh_unknowns_do_not_compile_again() -> None:
    compiled = [
        tt.compile(add_one, *[make_fake_compact_tensor(tt.Float32, (n,)) for _ in range(2)])
        for n in (cute.sym_int(), cute.sym_int())
    ]
    different = [make_fake_compact_tensor(tt.Float32, (cute.sym_int(),)) for _ in range(2)]
    assert compiled[0] is compiled[1]
    assert tt.compile(add_one, *different) is not compiled[0]


@pytest.mark.parametrize(
    ("order", "stride"), [(None, (1, 2, 6)), ((0, 1, 2), (1, 2, 6)), ((2, 1, 0), (12, 4, 1)), ((1, 0, 2), (3, 1, 6))]
)
def test_the_order_of_a_compact_fake_tensor(order: Any, stride: Any) -> None:
    assert make_fake_compact_tensor(tt.Float32, (2, 3, 4), stride_order=order).stride == stride


def test_a_fake_tensor_has_no_elements() -> None:
    fake = make_fake_tensor(tt.Float32, (8,), (1,))
    uses: list[Callable[[], Any]] = [
        lambda: fake[0],
        lambda: add_one(fake, fake),
        lambda: tt.compile(add_one, fake, fake)(fake, fake),
    ]
    for use in uses:
        with pytest.raises(FakeTensorError, match="a fake tensor has no elements"):
            use()
    assert str(fake) == "FakeTensor<Float32@gmem o (8):(1)>"


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_fake_tensor(tt.Float32, (8,), (1, 1)),
        lambda: make_fake_tensor(tt.Float32, ((8, 2),), ((1, 8),)),  # type: ignore[arg-type]
        lambda: make_fake_tensor(tt.Int128, (8,), (1,)),
        lambda: make_fake_tensor(tt.Float32, (8,), (1,), assumed_align=12),
    ],
)
def test_a_fake_tensor_that_no_tensor_can_be_like(make: Any) -> None:
    with pytest.raises(FakeTensorError):
        make()


def test_an_unknown_must_be_given_by_some_tensor_and_declared_once() -> None:
    n, narrow = cute.sym_int(symbol="n"), cute.sym_int(divisibility=4, symbol="n")
    with pytest.raises(UndeterminedSymbolError, match="do not say what the unknown n is"):
        tt.compile(add_one, *[make_fake_tensor(tt.Float32, (2 * n,), (1,))] * 2)
    with pytest.raises(UndeterminedSymbolError, match="declared in two ways"):
        tt.compile(add_one, *[make_fake_tensor(tt.Float32, (unknown,), (1,)) for unknown in (n, narrow)])


@tt.jit
def count(start: cute.Pointer, n: tt.Int32) -> None:
    row = cute.make_tensor(start, cute.make_layout((n,)))
    for i in range(n):
        row[i] = i


def test_a_pointer_is_an_argument() -> None:
    row = np.zeros(6, np.int32)
    pointer = make_ptr(tt.Int32, row.ctypes.data, cute.AddressSpace.gmem, assumed_align=4)
    count(pointer, 5)
    assert row.tolist() == [0, 1, 2, 3, 4, 0]
    compiled = tt.compile(count, pointer, 5)
    for address in (pointer, ctypes.c_void_p(row.ctypes.data), row.ctypes.data):
        row[:] = 0
        compiled(address, 6)
        assert row.tolist() == list(range(6))
    assert (pointer.dtype, pointer.memspace) == (tt.Int32, cute.AddressSpace.gmem)
    assert nullptr(tt.Float32).address == 0


def test_pointers_are_compiled_for_by_kind_and_followed_by_address() -> None:
    """One compilation for all addresses, each call with its own; a kind of its own for what the program may assume."""
    rows = np.zeros((3, 6), np.int32)
    pointers = [make_ptr(tt.Int32, row.ctypes.data, cute.AddressSpace.gmem, assumed_align=4) for row in rows]
    for n, pointer in enumerate([*pointers, *pointers[::-1]]):
        rows[:] = -1
        count(pointer, 6)
        written = n if n < 3 else 5 - n
        assert [row.tolist() for row in rows] == [[*range(6)] if i == written else [-1] * 6 for i in range(3)]
    assert len({count.explain_key(pointer, 6).digest for pointer in pointers}) == 1
    address = pointers[0].address
    others = [
        make_ptr(tt.Int32, address, cute.AddressSpace.gmem, assumed_align=8),
        make_ptr(tt.Float32, address, cute.AddressSpace.gmem, assumed_align=4),
        make_ptr(tt.Int32, address, assumed_align=4),
    ]
    assert len({count.explain_key(pointer, 6).digest for pointer in [pointers[0], *others[::2]]}) == 3
    again = make_ptr(tt.Int32, address, cute.AddressSpace.gmem, assumed_align=4)
    assert again == pointers[0]
    assert {again, *pointers} == set(pointers)
    assert all(other != pointers[0] for other in [*others, pointers[1], address])


def test_a_pointer_that_is_another_one_is_refused() -> None:
    row = np.zeros(6, np.int32)
    compiled = tt.compile(count, make_ptr(tt.Int32, row.ctypes.data, cute.AddressSpace.gmem), 5)
    for other in (
        ctypes.c_void_p(row.ctypes.data + 1),
        make_ptr(tt.Float32, row.ctypes.data, cute.AddressSpace.gmem),
        make_ptr(tt.Int32, row.ctypes.data, cute.AddressSpace.smem),
        "row",
    ):
        with pytest.raises(PointerArgumentError):
            compiled(other, 5)
    compiled(make_ptr(tt.Int32, row.ctypes.data), 5)  # the host's memory, by its other name
    assert row.tolist() == [0, 1, 2, 3, 4, 0]
    with pytest.raises(PointerArgumentError, match="not aligned as assumed"):
        make_ptr(tt.Int32, row.ctypes.data + 2)


def test_fakes_are_pickled_as_what_they_are() -> None:
    fake = make_fake_tensor(tt.Float32, (4, 8), (8, 1))
    again = pickle.loads(pickle.dumps(fake))
    assert type(again) is type(fake)
    assert again.layout == fake.layout
