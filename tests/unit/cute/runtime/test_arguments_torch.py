"""torch's tensors as arguments, read through the functions that torch offers for it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.diagnostics.tensor_errors import ArgumentTensorError, ArgumentTensorTypeError, UnsupportedTensorError

torch = pytest.importorskip("torch")

TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
TYPES += ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"]


@tt.jit
def copy(source: cute.Tensor, target: cute.Tensor) -> None:
    for i in range(source.shape[0]):
        target[i] = source[i]


@pytest.mark.parametrize("name", TYPES)
def test_every_element_type_crosses(name: str) -> None:
    kind = getattr(torch, name)
    raw = torch.arange(8 * kind.itemsize, dtype=torch.uint8) % (2 if name == "bool" else 97)
    source = raw.view(kind)
    target = torch.zeros(8, dtype=torch.uint8 if name == "float8_e8m0fnu" else kind).view(kind)
    copy(source, target)
    assert torch.equal(target.view(torch.uint8), source.view(torch.uint8))


def test_views_and_detached_parameters() -> None:
    @tt.jit
    def total(x: cute.Tensor) -> Any:
        sum = tt.Float32(0.0)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                sum += x[i, j]
        return sum

    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    for view in (base, base.T, base[1:, ::2], base[:1].expand(5, 6), base[:0], torch.nn.Parameter(base).detach()):
        assert total(view) == view.sum().item()


def test_a_tensor_that_does_not_fit_is_refused() -> None:
    compiled = tt.compile(copy, torch.zeros(4), torch.zeros(4))
    with pytest.raises(ArgumentTensorTypeError, match="argument 'target'"):
        compiled(torch.zeros(4), torch.zeros(4, dtype=torch.float64))
    with pytest.raises(ArgumentTensorError, match="argument 'source' has another stride"):
        compiled(torch.zeros(8)[::2], torch.zeros(4))
    static = tt.compile(copy, from_dlpack(torch.zeros(4)), from_dlpack(torch.zeros(4)))
    with pytest.raises(ArgumentTensorError, match="argument 'source' has another shape"):
        static(torch.zeros(5), torch.zeros(5))


def test_memory_that_is_no_tensor_is_refused() -> None:
    strange = [torch.zeros(4, dtype=torch.complex64), torch.zeros(4).to_sparse(), torch.zeros(4, device="meta")]
    compiled = tt.compile(copy, torch.zeros(4), torch.zeros(4))
    for tensor in strange:
        with pytest.raises(UnsupportedTensorError, match="argument 'source'"):
            copy(tensor, torch.zeros(4))
        with pytest.raises((UnsupportedTensorError, ArgumentTensorTypeError), match="argument 'source'"):
            compiled(tensor, torch.zeros(4))


def test_calls_leave_no_references() -> None:
    source, target = torch.ones(4), torch.zeros(4)
    copy(source, target)
    before = sys.getrefcount(source)
    for _ in range(100):
        copy(source, target)
        copy(from_dlpack(source), from_dlpack(target))
    assert sys.getrefcount(source) == before
    assert torch.equal(source, target)


class Watching(torch.overrides.TorchFunctionMode):  # type: ignore[misc,name-defined]  # torch has no types here
    """Counts the calls of torch that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen += 1
        return function(*args, **(kwargs or {}))


def test_a_plain_tensor_is_described_below_function_modes() -> None:
    """A mode that answers for a GPU would be asked, in Python, for each extent."""
    tensor = torch.zeros(4, 6)
    from_dlpack(tensor)
    with Watching() as mode:
        marked = from_dlpack(tensor).mark_layout_dynamic()
    assert mode.seen == 0
    assert marked.shape == (4, 6)


def test_memory_stays_when_the_tensor_is_given_another() -> None:
    source, target = torch.arange(4.0), torch.zeros(4)
    described = from_dlpack(source)
    source.data = torch.full((4,), -1.0)
    copy(described, target)
    assert target.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_tensors_that_nobody_follows_are_described() -> None:
    with torch.inference_mode():
        assert from_dlpack(torch.zeros(4, 6).T).stride == (1, 6)
    parameter = torch.nn.Parameter(torch.zeros(3))
    with torch.no_grad():
        assert from_dlpack(parameter).shape == (3,)
    with pytest.raises(UnsupportedTensorError, match="requires a gradient"):
        from_dlpack(parameter)
