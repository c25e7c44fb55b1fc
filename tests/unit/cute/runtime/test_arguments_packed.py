"""Tensors of elements that are packed in bytes, as arguments: libraries count bytes, the language counts elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack, make_fake_compact_tensor
from triptych.diagnostics.tensor_errors import ArgumentTensorError, UnsupportedTensorError

torch = pytest.importorskip("torch")
if not hasattr(torch, "float4_e2m1fn_x2"):
    pytest.skip("this torch has no packed elements", allow_module_level=True)

VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
"""What the sixteen patterns of Float4E2M1FN are."""


def packed(rows: int, columns: int) -> tuple[Any, Any]:
    """Random bytes, and the same memory as torch's tensor of pairs."""
    raw = torch.tensor(np.random.default_rng(rows + columns).integers(0, 256, (rows, columns)), dtype=torch.uint8)
    return raw, raw.view(torch.float4_e2m1fn_x2)


def decoded(raw: Any) -> Any:
    """The elements of bytes: the low half of each comes first."""
    numbers = raw.numpy()
    return np.stack([VALUES[numbers & 15], VALUES[numbers >> 4]], -1).reshape(
        *numbers.shape[:-1], 2 * numbers.shape[-1]
    )


@cute.kernel
def widen_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    row, column = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    out[row, column] = x[row, column].to(tt.Float32)


@cute.jit
def widen(x: cute.Tensor, out: cute.Tensor) -> None:
    widen_kernel(x, out).launch(grid=x.shape[0], block=x.shape[1])


@cute.kernel
def narrow_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    row, pair = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    target = cute.local_tile(out, (1, 2), (row, pair))
    target.store(cute.local_tile(x, (1, 2), (row, pair)).load().to(tt.Float4E2M1FN))


@cute.jit
def narrow(x: cute.Tensor, out: cute.Tensor) -> None:
    narrow_kernel(x, out).launch(grid=x.shape[0], block=x.shape[1] // 2)


@cute.jit
def write_facts(x: cute.Tensor, out: cute.Tensor) -> None:
    for i in tt.range_constexpr(2):
        out[i], out[2 + i] = x.shape[i], tt.Int32(x.stride[i])


def facts(x: Any) -> tuple[int, ...]:
    """Extents and strides, as compiled code has them."""
    out = np.zeros(4, np.int32)
    write_facts(x, out)
    return tuple(out.tolist())


def widened(x: Any) -> Any:
    out = np.zeros(facts(x)[:2], np.float32)
    widen(x, out)
    return out


def test_every_element_is_read() -> None:
    for rows, columns in ((4, 6), (1, 16), (3, 1)):
        raw, pairs = packed(rows, columns)
        assert facts(pairs) == (rows, 2 * columns, 2 * columns, 1)
        for argument in (pairs, from_dlpack(pairs), from_dlpack(pairs).mark_layout_dynamic()):
            assert widened(argument).tolist() == decoded(raw).tolist()
    assert set(decoded(packed(64, 64)[0]).ravel()) == set(VALUES)


def test_views_begin_and_step_at_bytes() -> None:
    raw, pairs = packed(6, 8)
    for rows, columns in ((slice(1, 4), slice(None)), (slice(None, None, 2), slice(2, 7)), (slice(2, 2), slice(0, 1))):
        assert widened(pairs[rows, columns]).tolist() == decoded(raw[rows, columns]).tolist()
    turned = pairs.t()
    assert facts(turned) == (16, 6, 1, 16)
    assert widened(turned).tolist() == decoded(raw).T.tolist()


def test_elements_are_written_in_pairs() -> None:
    raw, pairs = packed(4, 6)
    numbers = np.random.default_rng(5).choice(VALUES, (4, 12))
    narrow(numbers, pairs)
    assert decoded(raw).tolist() == numbers.tolist()


def test_compiled_for_tensors_that_do_not_exist_yet() -> None:
    m, k = cute.sym_int(), cute.sym_int(divisibility=2)
    fakes = [make_fake_compact_tensor(dtype, (m, k), stride_order=(1, 0)) for dtype in (tt.Float4E2M1FN, tt.Float32)]
    compiled = cute.compile(widen, *fakes)
    for rows, columns in ((4, 6), (2, 3)):
        raw, pairs = packed(rows, columns)
        out = np.zeros((rows, 2 * columns), np.float32)
        compiled(pairs, out)
        assert out.tolist() == decoded(raw).tolist()
        with pytest.raises(TypeError, match="another kind of tensor"):
            compiled(raw, out)
        with pytest.raises(ArgumentTensorError):
            compiled(pairs, out[:, :-2])


def test_bytes_are_recast() -> None:
    @cute.jit
    def same(x: cute.Tensor, raw: cute.Tensor, out: cute.Tensor) -> None:
        elements = cute.recast_tensor(raw, tt.Float4E2M1FN)
        for i in range(x.shape[1]):
            out[i] = x[0, i] == elements[0, i]

    raw, pairs = packed(1, 6)
    out = np.zeros(12, np.bool_)
    same(pairs, raw, out)
    assert out.all()


@cute.jit
def two_results(x: cute.Tensor) -> Any:
    return x.shape[0], x.shape[1]


def test_where_tensors_export_themselves() -> None:
    with pytest.raises(UnsupportedTensorError, match="function with several results"):
        two_results(packed(4, 6)[1])


def test_pairs_that_lie_nowhere_next_to_each_other() -> None:
    _, pairs = packed(4, 6)
    with pytest.raises(UnsupportedTensorError, match="2 elements are packed in one byte"):
        widen(pairs[:, ::2], np.zeros((4, 6), np.float32))
