"""What autograd and torch's modes mean for a direct call: the result is right, or an error with a code.

The table has a row for each kind of tensor and a column for each way into compiled code. What autograd minds is grad
mode and `requires_grad`; what it must be told is which tensors have been written to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.compat import leniency
from triptych.cute.runtime import from_dlpack
from triptych.interop import tensor_views, torch_tensors
from triptych.support.errors import TriptychError, TriptychWarning

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # of torch itself
forward_ad = pytest.importorskip("torch.autograd.forward_ad")
fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")


@tt.jit
def double(a: cute.Tensor, c: cute.Tensor) -> None:
    for i in range(a.shape[0]):
        c[i] = a[i] * 2.0


@tt.jit
def pair(a: cute.Tensor, c: cute.Tensor) -> Any:
    """With several results, so that a tensor goes another way."""
    for i in range(a.shape[0]):
        c[i] = a[i] * 2.0
    return a.shape[0], a[0]


@tt.kernel
def double_kernel(a: cute.Tensor, c: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    if t < a.shape[0]:
        c[t] = a[t] * 2.0


@tt.jit
def launched(a: cute.Tensor, c: cute.Tensor) -> None:
    double_kernel(a, c).launch(grid=1, block=8)


@tt.jit
def with_results(a: cute.Tensor, c: cute.Tensor) -> Any:
    for i in range(a.shape[0]):
        c[i] = a[i] * 2.0
    return a.shape[0], 0


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "@jit": double,
    "compiled": tt.compile(double, torch.zeros(4), torch.zeros(4)),
    "launch": launched,
    "several results": with_results,
    "from_dlpack": lambda a, c: double(from_dlpack(a).mark_layout_dynamic(), from_dlpack(c).mark_layout_dynamic()),
}


def values() -> Any:
    return torch.arange(1.0, 5.0)


class Plain(torch.Tensor):  # type: ignore[misc, name-defined]
    """A subclass without methods of its own."""


def under(mode: Any, make: Callable[[], Any]) -> Callable[[Any], Any]:
    def run(call: Any) -> Any:
        with mode():
            a, c = make(), torch.zeros(4)
            call(a, c)
            call(a, c)
            return c.clone(), 2 * a.detach().clone()

    return run


def plainly(make: Callable[[], Any]) -> Callable[[Any], Any]:
    def run(call: Any) -> Any:
        a = make()
        c = torch.zeros(a.shape[0])
        call(a, c)
        call(a, c)
        return c, 2 * a.detach()

    return run


def in_a_function(call: Any) -> Any:
    class Doubled(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(_: Any, a: Any) -> Any:
            c = torch.empty_like(a)
            call(a, c)
            return c

        @staticmethod
        def backward(_: Any, gradient: Any) -> Any:
            doubled = torch.empty_like(gradient)
            call(gradient, doubled)
            return doubled

        @staticmethod
        def jvp(_: Any, tangent: Any) -> Any:
            return 2 * tangent

    a = torch.nn.Parameter(values())
    result = Doubled.apply(a)
    result.square().sum().backward()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(values(), torch.ones(4))
        tangent = forward_ad.unpack_dual(Doubled.apply(dual)).tangent
    return torch.stack([result.detach(), a.grad, tangent]), torch.stack([2 * values(), 8 * values(), 2 * torch.ones(4)])


def custom_op(call: Any) -> Any:
    name = f"triptych_tests::double_{len(DEFINED)}"

    @torch.library.custom_op(name, mutates_args=())  # type: ignore[untyped-decorator, unused-ignore]
    def op(a: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        c = torch.empty_like(a)
        call(a, c)
        return c

    DEFINED.append(op)
    op.register_autograd(lambda _, gradient: 2 * gradient)
    a = torch.nn.Parameter(values())
    op(a).sum().backward()
    return a.grad, torch.full((4,), 2.0)


DEFINED: list[Any] = []
"""Operators live as long as their library."""


def dual(call: Any) -> Any:
    with forward_ad.dual_level():
        a = forward_ad.make_dual(values(), torch.ones(4))
        return plainly(lambda: a)(call)


def view_of_dual(call: Any) -> Any:
    with forward_ad.dual_level():
        base = torch.zeros(8)
        a = base[4:]
        base.copy_(forward_ad.make_dual(torch.ones(8), torch.ones(8)))
        return plainly(lambda: a)(call)


def fake(call: Any) -> Any:
    with fake_tensor.FakeTensorMode() as mode:
        return plainly(lambda: mode.from_tensor(values()))(call)


RIGHT: dict[str, Callable[[Any], Any]] = {
    "no_grad": under(torch.no_grad, lambda: values().requires_grad_()),
    "Parameter under no_grad": under(torch.no_grad, lambda: torch.nn.Parameter(values())),
    "inference mode": under(torch.inference_mode, values),
    "Parameter in inference mode": under(torch.inference_mode, lambda: torch.nn.Parameter(values())),
    "autograd.Function": in_a_function,
    "custom_op with register_autograd": custom_op,
    "stride 0": plainly(lambda: torch.ones(1).expand(4)),
    "empty": plainly(lambda: torch.zeros(0)),
    "subclass": plainly(lambda: values().as_subclass(Plain)),
    "resolved negative": plainly(lambda: torch._neg_view(values()).resolve_neg()),
}
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "requires_grad": (plainly(lambda: values().requires_grad_()), "TT0640"),
    "non-leaf": (plainly(lambda: values().requires_grad_() * 1), "TT0640"),
    "Parameter": (plainly(lambda: torch.nn.Parameter(values())), "TT0640"),
    "forward AD": (dual, "TT0640"),
    "view of a dual tensor": (view_of_dual, "TT0640"),
    "negative bit": (plainly(lambda: torch._neg_view(values())), "TT0640"),
    "conjugated": (plainly(lambda: torch.ones(4, dtype=torch.complex64).conj()), "TT0640|TT0641"),
    "meta": (plainly(lambda: torch.zeros(4, device="meta")), "TT0640|TT0642"),
    "fake": (fake, "TT0649|TT0642"),
}


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("kind", list(RIGHT))
def test_right(kind: str, way: str) -> None:
    call = WAYS[way]
    if kind == "stride 0" and way == "compiled":
        call = tt.compile(double, torch.ones(1).expand(4), torch.zeros(4))
    found, expected = RIGHT[kind](call)
    assert torch.equal(found, expected)


OPERATORS = ("@jit", "launch")
"""Ways whose calls are operators for tensors without memory (tests/frameworks/test_torch_bare_calls.py)."""
CASES = [(kind, way) for kind in REFUSED for way in WAYS if kind != "fake" or way not in OPERATORS]


@pytest.mark.parametrize("way", OPERATORS)
def test_fake_tensors_stay_fake(way: str) -> None:
    found, _ = fake(WAYS[way])
    assert isinstance(found, fake_tensor.FakeTensor)


@pytest.mark.parametrize(("kind", "way"), CASES)
def test_refused_with_a_code(kind: str, way: str) -> None:
    program, codes = REFUSED[kind]
    for _ in range(2):
        with pytest.raises(TriptychError) as caught:
            program(WAYS[way])
        assert caught.value.code in codes.split("|")


@pytest.mark.parametrize(("kind", "way"), CASES)
def test_what_programs_for_gpus_do_is_a_warning(kind: str, way: str) -> None:
    """They hand over tensors that require a gradient, and get results without one; all else stays refused."""
    undo = leniency.install()
    try:
        if kind not in ("requires_grad", "non-leaf", "Parameter"):
            return test_refused_with_a_code(kind, way)
        with pytest.warns(TriptychWarning, match="requires a gradient.*the result has no gradient; write") as caught:
            found, expected = REFUSED[kind][0](WAYS[way])
        assert all(warning.filename == __file__ for warning in caught)
        assert torch.equal(found, expected)
        assert not found.requires_grad
    finally:
        undo()


@pytest.mark.parametrize("way", list(WAYS))
def test_autograd_knows_what_was_written(way: str) -> None:
    """Only written tensors count: one that autograd has saved may be read."""
    weight, saved = torch.ones(4, requires_grad=True), values()
    for _ in range(2):  # a first call, which may compile, and a warm one
        product = (weight * saved).sum()
        WAYS[way](values(), saved)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()
    product = (weight * saved).sum()
    WAYS[way](saved, torch.zeros(4))
    product.backward()
    assert torch.equal(weight.grad, saved)


@pytest.mark.parametrize("way", list(WAYS))
def test_views_and_what_they_view_are_counted_together(way: str) -> None:
    base = torch.zeros(8)
    before = base._version
    WAYS[way](values(), base[4:])
    assert base._version == before + 1
    WAYS[way](values(), base.detach()[:4])
    assert base._version == before + 2


def test_where_versions_are_counted_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a torch whose memory is laid out otherwise Python counts, for views as for tensors."""
    monkeypatch.setattr(tensor_views, "torch_fields", lambda: None)
    monkeypatch.setattr("triptych.targets.cpu.calling.native_types.torch_fields", lambda: None)
    saved = values()
    for call in (double, tt.compile(double, values(), values()), pair):
        view = from_dlpack(saved).mark_layout_dynamic()
        before = saved._version
        call(values(), view)
        assert saved._version == before + 1
        assert saved.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_the_counter_of_this_torch_is_found() -> None:
    """Every time: what lies between the fields of torch is what was in memory before."""
    kept = [torch.randn(number) for number in range(60)]
    for number in range(60):
        fields = torch_tensors.torch_fields.__wrapped__()
        assert fields is not None
        assert fields.counter > 0
        kept[number] = torch.randn(7 * number + 1)


def test_eight_threads() -> None:
    """Grad mode is a thread's own: half of them follow gradients and are refused, the others are right."""
    found: list[bool] = []

    def work(number: int) -> None:
        a, c = torch.nn.Parameter(values()), torch.zeros(4)
        for _ in range(200):
            if number % 2:
                with torch.no_grad():
                    double(a, c)
                found.append(torch.equal(c, 2 * a.detach()))
            else:
                try:
                    double(a, c)
                except TriptychError as error:
                    found.append(error.code == "TT0640")
        found.append(c._version == (200 if number % 2 else 0))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 * 201
    assert all(found)
