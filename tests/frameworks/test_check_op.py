"""`triptych.testing.check_op`: right operators pass, and each planted fault is found by the check it is for."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.tensor_errors import OperatorCheckError, OperatorDeclarationError
from triptych.testing import check_op

torch: Any = pytest.importorskip("torch")
ours: Any = pytest.importorskip("triptych.torch")
ways: Any = pytest.importorskip("tests.frameworks.border_ways")
BY_HAND: Any = torch.library.Library("triptych_checks_by_hand", "DEF")


@tt.jit
def sums(x: cute.Tensor, total: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        found = x[i, 0] * 0.0
        for j in range(x.shape[1]):
            found += x[i, j]
        total[i] = found


@tt.jit
def sums_of_numbers(x: cute.Tensor, factor: tt.Float32, total: cute.Tensor, twice: tt.Constexpr[bool] = False) -> None:
    for i in range(x.shape[0]):
        found = tt.Float32(0.0)
        for j in range(x.shape[1]):
            found += x[i, j].to(tt.Float32)
        total[i] = (found * factor * (2.0 if tt.const_expr(twice) else 1.0)).to(total.element_type)


def pair() -> tuple[Any, Any]:
    return torch.randn(5, 7), torch.randn(5, 7)


# right operators ------------------------------------------------------------------------------------------------------
RIGHT: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, ...]], set[str]]] = {
    "with a backward": (lambda: ways.BACKWARD, pair, set()),
    "without": (lambda: ways.OUT, pair, {"gradients in float64"}),
    "of half": (lambda: ways.OUT, lambda: tuple(x.half() for x in pair()), {"gradients in float64"}),
    "writes": (
        lambda: ways.WRITES,
        lambda: (*pair(), torch.empty(5, 7)),
        {"gradients in float64", "every element of a result is written"},
    ),
    "what it writes is found": (
        lambda: ours.op(ways.mul, "triptych_checks::found"),
        lambda: (*pair(), torch.empty(5, 7)),
        {"gradients in float64", "every element of a result is written"},
    ),
    "numbers": (
        lambda: ours.op(sums_of_numbers, "triptych_checks::numbers", out={"total": lambda x: x.new_empty(x.shape[0])}),
        lambda: (torch.randn(4, 6), 0.5, True),
        {"gradients in float64"},
    ),
    "the overload itself": (lambda: ways.BACKWARD.default, pair, set()),
    "PyTorch's own": (lambda: torch.ops.aten.mul.Tensor, pair, set()),
}


@pytest.fixture(autouse=True)
def fresh_graphs() -> None:
    torch._dynamo.reset()


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_operator_passes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    made, arguments, left_out = RIGHT[name]
    args = arguments()
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in args]
    checked = check_op(made(), *args)
    outcomes = {each.name: each.outcome for each in checked.checks}
    assert {name for name, outcome in outcomes.items() if outcome == "left out"} == left_out
    assert set(outcomes.values()) <= {"passed", "left out"}
    assert len(outcomes) == 14
    assert capsys.readouterr().out == f"{checked}\n"
    for arg, copy in zip(args, copies, strict=True):
        assert arg == copy if not isinstance(arg, torch.Tensor) else torch.equal(arg.nan_to_num(), copy.nan_to_num())
    assert json.loads(json.dumps(checked.as_dict()))["checks"][1]["name"] == "opcheck: test_schema"


# planted faults -------------------------------------------------------------------------------------------------------
def by_hand(name: str, schema: str, real: Callable[..., Any], fake: Callable[..., Any], autograd: Any = None) -> Any:
    if not hasattr(torch.ops.triptych_checks_by_hand, name):
        BY_HAND.define(name + schema, tags=[torch.Tag.pt2_compliant_tag])
        BY_HAND.impl(name, real, "CPU")
        torch.library.register_fake(f"triptych_checks_by_hand::{name}", fake, lib=BY_HAND)
        if autograd is not None:
            torch.library.register_autograd(f"triptych_checks_by_hand::{name}", autograd, lib=BY_HAND)
    return getattr(torch.ops.triptych_checks_by_hand, name).default


def too_long() -> Any:
    return ours.op(sums, "triptych_checks::too_long", out={"total": lambda x: x.new_empty(x.shape[0] + 1)})


def like_another() -> Any:
    return ours.op(
        ways.mul, "triptych_checks::like_another", out={"c": lambda a, b: torch.empty_like(a.new_empty(9, 9))}
    )


def wrong_backward() -> Any:
    def backward(a: Any, b: Any, grad_c: Any) -> dict[str, Any]:
        return {"grad_a": grad_c * a, "grad_b": grad_c * b}

    return ours.op(ways.mul, "triptych_checks::wrong_backward", out={"c": "a"}, backward=backward)


def half_a_backward() -> Any:
    return ours.op(
        ways.mul,
        "triptych_checks::half",
        out={"c": "a"},
        backward=lambda a, b, grad_c: {"grad_a": grad_c * b},
    )


def other_strides() -> Any:
    return by_hand("other_strides", "(Tensor a) -> Tensor", lambda a: a.t().contiguous().t() * 2, torch.empty_like)


def other_type() -> Any:
    return by_hand("other_type", "(Tensor a) -> Tensor", lambda a: a.double(), torch.empty_like)


def unsaid_write() -> Any:
    def written(a: Any) -> Any:
        a[0] = 3.0
        return a * 2

    return by_hand("unsaid_write", "(Tensor a) -> Tensor", written, torch.empty_like)


def by_address() -> Any:
    """Takes its argument for contiguous."""

    def read(a: Any) -> Any:
        return a.as_strided(a.shape, torch.empty(a.shape).stride()) * 2

    return by_hand("by_address", "(Tensor a) -> Tensor", read, lambda a: a.new_empty(a.shape))


def one_size() -> Any:
    return by_hand(
        "one_size",
        "(Tensor a) -> Tensor",
        lambda a: a * 2,
        lambda a: torch.empty_strided([int(n) for n in a.shape], a.stride()),
    )


def none_empty() -> Any:
    return by_hand(
        "none_empty", "(Tensor a) -> Tensor", lambda a: a - a.max() + a.max(), lambda a: a.new_empty(a.shape)
    )


LAST: list[Any] = []
BUSY = threading.Lock()


def of_one_thread() -> Any:
    """Keeps what it computes in one place for all threads."""

    def shared(a: Any) -> Any:
        LAST[:] = [a]
        mine = threading.get_ident()
        LAST.append(mine)
        time.sleep(0.01)
        return LAST[0] * (2 if LAST[1] == mine else 3)

    return by_hand("of_one_thread", "(Tensor a) -> Tensor", shared, lambda a: a.new_empty(a.shape))


PLANTED: dict[str, tuple[Callable[[], Any], int, str]] = {
    "a result is longer than what is written": (too_long, 1, "every element of a result is written"),
    "a result has a shape of its own": (like_another, 2, "every element of a result is written"),
    "gradients are changed about": (wrong_backward, 2, "gradients in float64"),
    "one gradient is missing": (half_a_backward, 2, "gradients in float64"),
    "the fake has other strides": (other_strides, 1, "opcheck: test_faketensor"),
    "the fake has another type": (other_type, 1, "opcheck: test_faketensor"),
    "a write is not in the schema": (unsaid_write, 1, "opcheck: test_schema"),
    "strides are not read": (by_address, 1, "every second element of a row"),
    "the fake is of one size": (one_size, 1, "torch.export, strict"),
    "empty tensors are not thought of": (none_empty, 1, "empty tensors"),
    "threads share memory": (of_one_thread, 1, "4 threads"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    made, count, check = PLANTED[name]
    args = pair()[:count]
    checked = check_op(made(), *args, must_pass=False, quiet=True)
    assert check in [each.name for each in checked.failures], str(checked)
    with pytest.raises(OperatorCheckError, match="TT0659") as raised:
        check_op(made(), *args, quiet=True)
    assert f"`{checked.failures[0].name}`" in raised.value.title
    assert "torch.ops.triptych_checks" in raised.value.instead
    assert raised.value.span is not None
    assert raised.value.span.file == __file__


def test_a_reproducer_shows_the_failure_again() -> None:
    checked = check_op(wrong_backward(), *pair(), must_pass=False, quiet=True)
    (failure,) = checked.failures
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        eval(failure.reproducer, {"torch": torch})
    checked = check_op(other_strides(), pair()[0], must_pass=False, quiet=True)
    with pytest.raises(Exception, match="stride"):
        eval(checked.failures[0].reproducer, {"torch": torch})


def test_what_is_no_operator_is_refused() -> None:
    with pytest.raises(OperatorDeclarationError, match="this is no operator of PyTorch"):
        check_op(ways.mul, *pair())


def test_importing_the_checks_imports_no_torch() -> None:
    code = "import sys, triptych.testing; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
