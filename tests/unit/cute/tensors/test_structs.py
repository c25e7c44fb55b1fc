"""Structs in memory are laid out as C lays them out, and their members are reached by name."""

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.unit.cute.launched import run
from triptych import cute
from triptych.cute.tracing.errors import ElementTypeError, PointerError

C_TYPES: dict[Any, Any] = {
    tt.Int8: ctypes.c_int8,
    tt.Uint16: ctypes.c_uint16,
    tt.Int32: ctypes.c_int32,
    tt.Float32: ctypes.c_float,
    tt.Int64: ctypes.c_int64,
    tt.Float64: ctypes.c_double,
}

scalars = st.sampled_from(list(C_TYPES))
ranges = st.tuples(scalars, st.integers(0, 5))
members = st.lists(st.one_of(scalars, ranges), min_size=1, max_size=6)


def made(fields: list[Any]) -> tuple[Any, Any]:
    """The same members as a struct and as a struct of C."""
    annotations: dict[str, Any] = {}
    c_fields: list[tuple[str, Any]] = []
    for i, field in enumerate(fields):
        dtype, count = field if isinstance(field, tuple) else (field, None)
        annotations[f"m{i}"] = dtype if count is None else cute.struct.MemRange[dtype, count]
        c_fields.append((f"m{i}", C_TYPES[dtype] if count is None else C_TYPES[dtype] * count))
    ours = cute.struct(type("Members", (), {"__annotations__": annotations}))
    return ours, type("Members", (ctypes.Structure,), {"_fields_": c_fields})


@given(members)
def test_layout_is_that_of_c(fields: list[Any]) -> None:
    ours, theirs = made(fields)
    assert ours.size_in_bytes() == ctypes.sizeof(theirs)
    assert ours.alignment == ctypes.alignment(theirs)
    for member in ours.members:
        assert member.offset == getattr(theirs, member.name).offset


@given(members, members)
def test_nested_layout_is_that_of_c(inner: list[Any], outer: list[Any]) -> None:
    ours, theirs = made(inner)
    annotations = {"first": tt.Int8, "inner": ours, "last": tt.Int8}
    nested = cute.struct(type("Nested", (), {"__annotations__": annotations}))
    c_fields = [("first", ctypes.c_int8), ("inner", theirs), ("last", ctypes.c_int8)]
    c_nested = type("Nested", (ctypes.Structure,), {"_fields_": c_fields})
    assert nested.size_in_bytes() == ctypes.sizeof(c_nested)
    assert [member.offset for member in nested.members] == [getattr(c_nested, name).offset for name, _ in c_fields]


@cute.struct
class Complex:
    real: tt.Float32
    imag: tt.Float32


@cute.struct
class Storage:
    a: cute.struct.MemRange[tt.Float32, 32]
    b: tt.Int64
    c: Complex
    x: cute.struct.Align[cute.struct.MemRange[tt.Float32, 32], 128]
    y: cute.struct.Align[tt.Int32, 8]
    z: cute.struct.Align[Complex, 16]


def test_alignment_may_be_stricter_than_natural() -> None:
    storage: Any = Storage
    assert (storage.size_in_bytes(), storage.alignment) == (512, 128)
    assert {member.name: member.offset for member in storage.members} == {
        "a": 0,
        "b": 128,
        "c": 136,
        "x": 256,
        "y": 384,
        "z": 400,
    }


@pytest.mark.parametrize(
    ("annotation", "error"),
    [
        (lambda: int, ElementTypeError),
        (lambda: "NoSuchType", ElementTypeError),
        (lambda: cute.struct.MemRange[tt.Float32], ElementTypeError),
        (lambda: cute.struct.MemRange[tt.Float32, 2.0], ElementTypeError),
        (lambda: cute.struct.Align[tt.Float32, 3], PointerError),
    ],
)
def test_wrong_member_is_refused(annotation: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        cute.struct(type("Wrong", (), {"__annotations__": {"m": annotation()}}))


# in a kernel ----------------------------------------------------------------------------------------------------------
@tt.kernel
def members_by_name(out: cute.Pointer) -> None:
    storage = cute.SmemAllocator().allocate(Storage)
    x, _, _ = cute.arch.thread_idx()
    storage.a[x] = x * 2
    storage.x.get_tensor((8, 4))[x] = x * 3
    if x == 0:
        storage.b = 16
        storage.c.real = 1.5
        storage.z.imag = 2.5
        storage.y = x + 7
    cute.arch.sync_threads()
    other = 31 - x
    found = (
        storage.a[other],
        storage.x[other],
        storage.b.load().to(tt.Float32),
        storage.c.real.load(),
        storage.z.imag.load(),
        storage.y.load().to(tt.Float32),
    )
    row = cute.make_tensor(out + x * 6, cute.make_layout(6))
    for i, value in enumerate(found):
        row[i] = value


def test_members_hold_what_is_assigned() -> None:
    out = np.zeros((32, 6), np.float32)
    run(members_by_name, [out])
    for x in range(32):
        assert list(out[x]) == [(31 - x) * 2, (31 - x) * 3, 16, 1.5, 2.5, 7]


def test_unknown_or_whole_member_is_refused() -> None:
    @tt.kernel
    def reads(out: cute.Pointer) -> None:
        tt.printf("%d", cute.SmemAllocator().allocate(Storage).bb)

    @tt.kernel
    def writes(out: cute.Pointer) -> None:
        storage = cute.SmemAllocator().allocate(Storage)
        storage.a = 1

    out = np.zeros(1, np.int32)
    with pytest.raises(AttributeError, match="no member 'bb'"):
        run(reads, [out])
    with pytest.raises(ElementTypeError, match="`a` is not a number"):
        run(writes, [out])


def test_scalar_members_are_pointers() -> None:
    """What takes a pointer takes the member itself, and tensors are made of it."""

    @tt.kernel
    def counts(out: cute.Pointer) -> None:
        storage = cute.SmemAllocator().allocate(Storage)
        x, _, _ = cute.arch.thread_idx()
        if x == 0:
            storage.y = 5
        cute.arch.sync_threads()
        cute.arch.atomic_add(storage.y, x)
        cute.arch.sync_threads()
        cute.make_tensor(out, cute.make_layout(32))[x] = cute.make_tensor(storage.y, cute.make_layout(1))[0]

    out = np.zeros(32, np.int32)
    run(counts, [out])
    assert list(out) == [5 + sum(range(32))] * 32
