"""Operators of random signatures: schema, fake results and real results agree, and wrong declarations are refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.tensor_errors import OperatorDeclarationError

torch: Any = pytest.importorskip("torch")
ours: Any = pytest.importorskip("triptych.torch")
signatures: Any = pytest.importorskip("tests.frameworks.random_signatures")
fakes: Any = pytest.importorskip("torch._subclasses.fake_tensor")
SEEDS, FEW, BLOCK = 500, 60, 20


def operator(drawn: Any) -> Any:
    named = drawn.written if drawn.out or drawn.seed % 2 else None  # else the first call finds it
    return ours.op(drawn.function(), f"triptych_drawn::f{drawn.seed}", out=drawn.out, mutates=named)


def facts(results: Any) -> list[tuple[Any, ...]]:
    listed = [] if results is None else list(results) if isinstance(results, (tuple, list)) else [results]
    return [(tuple(x.shape), x.stride(), x.dtype, x.layout) for x in listed]


def calls(drawn: Any) -> list[list[Any]]:
    """Arguments by position; every second call leaves out the last ones that are defaults."""
    found = []
    for i in range(len(drawn.given[0].values)):
        arguments = [each.values[i] for each in drawn.given]
        while i % 2 and arguments and arguments[-1] is None and drawn.given[len(arguments) - 1].default:
            arguments.pop()
        found.append(arguments)
    return found


def ones(tensor: Any) -> bool:
    return bool((tensor.double() == 1).all())


def check(seed: int) -> None:
    drawn = signatures.draw(seed)
    made = operator(drawn)
    for arguments in calls(drawn):
        before = [x.clone() if isinstance(x, torch.Tensor) else x for x in arguments]
        versions = [x._version if isinstance(x, torch.Tensor) else 0 for x in arguments]
        real = made(*arguments)
        assert made.schema == f"triptych_drawn::f{seed}{drawn.schema}", seed
        results = [] if real is None else list(real) if isinstance(real, (tuple, list)) else [real]
        assert all(map(ones, results)), (seed, results)
        for each, arg, copy, version in zip(drawn.given, arguments, before, versions, strict=False):
            if isinstance(arg, torch.Tensor):
                assert ones(arg) if each.written else torch.equal(arg.double(), copy.double()), (seed, each.name)
                assert (arg._version > version) == each.written, (seed, each.name)
        compare_fakes(made, drawn, arguments, real)


def compare_fakes(made: Any, drawn: Any, arguments: list[Any], real: Any) -> None:
    bare = [
        torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta") if isinstance(x, torch.Tensor) else x
        for x in arguments
    ]
    assert facts(made(*bare)) == facts(real), drawn.text
    with fakes.FakeTensorMode() as mode:
        faked = made(*[mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in arguments])
        assert facts(faked) == facts(real), drawn.text
    results = [] if faked is None else list(faked) if isinstance(faked, (tuple, list)) else [faked]
    assert all(each.device.type == "cpu" for each in results)
    declared = made.default._schema
    assert [each.name for each in declared.arguments] == [each.name for each in drawn.given]
    written = [each.alias_info is not None and each.alias_info.is_write for each in declared.arguments]
    assert written == [each.written for each in drawn.given]
    assert len(declared.returns) == len(results) == len(drawn.out)


def blocks() -> list[Any]:
    seeds = range(0, SEEDS, BLOCK)
    return [pytest.param(seed, marks=pytest.mark.slow) if seed >= FEW else seed for seed in seeds]


@pytest.mark.parametrize("first", blocks())
def test_schema_fake_and_real_results_agree(first: int) -> None:
    for seed in range(first, first + BLOCK):
        check(seed)


# wrong declarations ---------------------------------------------------------------------------------------------------
@tt.jit
def summed(x: cute.Tensor, factor: tt.Float32, y: cute.Tensor, total: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        total[i] = x[i, 0] * 0.0
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * factor
            total[i] = total[i] + x[i, j]


@tt.jit
def counting(x: cute.Tensor, y: cute.Tensor) -> Any:
    y[0, 0] = x[0, 0]
    return tt.Int32(3)


@tt.jit
def reading(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor) -> None:
    y[0, 0] = x[0, 0] + z[0, 0]


def per_row(x: Any) -> Any:
    return x.new_empty(x.shape[0])


TOTAL = {"total": per_row}
DECLARED: dict[str, dict[str, Any]] = {
    "no parameter": {"z": "x", **TOTAL},
    "a number": {"factor": "x"},
    "like no parameter": {"y": "z", **TOTAL},
    "like a number": {"y": "factor", **TOTAL},
    "like itself": {"y": "y", **TOTAL},
    "like another result": {"y": "total", **TOTAL},
    "of what no call gives": {"y": lambda z: z, **TOTAL},
    "of another result": {"y": lambda total: total, **TOTAL},
    "a shape": {"y": (4, 4), **TOTAL},
    "nothing": {"y": None, **TOTAL},
}
"""Refused where `op` is called."""
MADE: dict[str, Callable[[Any], Any]] = {
    "the argument": lambda x: x,
    "a view of the argument": lambda x: x.t().t(),
    "the argument, detached": lambda x: x.detach(),
    "one row for all": lambda x: x.new_empty(1, 6).expand(4, 6),
    "without memory": lambda x: torch.empty(x.shape, device="meta"),
    "no tensor": lambda x: None,
    "a tuple": lambda x: (torch.empty_like(x),),
    "an array of NumPy": lambda x: np.empty(x.shape, np.float32),
    "a sparse tensor": lambda x: torch.zeros(x.shape).to_sparse(),
    "negated when it is read": lambda x: torch._neg_view(torch.empty_like(x)),
    "followed by autograd": lambda x: torch.empty(x.shape, requires_grad=True),
}
"""Refused at the first call, with the line of `op`."""
UNFIT: dict[str, tuple[Any, dict[str, Any]]] = {
    "one result is left out": (summed, {"y": "x"}),
    "never written": (reading, {"y": "x", "z": "x"}),
    "numbers are returned": (counting, {"y": "x"}),
}
"""Refused at the first call, for what the compiler has found."""


def line() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def check_refusal(raised: Any, number: int) -> None:
    assert raised.value.code == "TT0654"
    assert (raised.value.span.file, raised.value.span.line) == (__file__, number)


@pytest.mark.parametrize("name", DECLARED)
def test_a_wrong_declaration_is_refused(name: str) -> None:
    index = list(DECLARED).index(name)
    with pytest.raises(OperatorDeclarationError) as raised:
        ours.op(summed, f"triptych_drawn::declared{index}", out=DECLARED[name])
    check_refusal(raised, raised.tb.tb_lineno)


@pytest.mark.parametrize("name", MADE)
def test_what_is_no_new_tensor_is_refused(name: str) -> None:
    index = list(MADE).index(name)
    made, number = ours.op(summed, f"triptych_drawn::made{index}", out={"y": MADE[name], **TOTAL}), line()
    x = torch.ones(4, 6)
    with pytest.raises(OperatorDeclarationError) as raised:
        made(x, 2.0)
    check_refusal(raised, number)
    assert ones(x), "nothing has run"


@pytest.mark.parametrize("name", UNFIT)
def test_what_the_function_does_not_do_is_refused(name: str) -> None:
    function, out = UNFIT[name]
    made, number = ours.op(function, f"triptych_drawn::unfit{list(UNFIT).index(name)}", out=out), line()
    given = {"x": torch.ones(4, 6), "y": torch.ones(4, 6), "factor": 2.0, "total": torch.ones(4)}
    with pytest.raises(OperatorDeclarationError) as raised:
        made(*[given[each.name] for each in made._signature.given])
    check_refusal(raised, number)
    assert all(ones(x) for x in given.values() if isinstance(x, torch.Tensor)), "nothing has run"
