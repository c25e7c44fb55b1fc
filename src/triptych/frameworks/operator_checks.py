"""The checks of `triptych.testing.check_op`: one function each.

Input: an operator and the arguments of a call. Output: of each check how it went, why, and what shows it again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import partial
from typing import Any, TypeAlias

from triptych.compat.torch import torch
from triptych.diagnostics.tensor_errors import OperatorDeclarationError, OperatorGradientError
from triptych.frameworks.checking import FAILED, LEFT_OUT, PASSED, CheckedOperator, OperatorCheck
from triptych.frameworks.torch_operators import Operator
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import caller
from triptych.support.wording import with_article

THREADS, CALLS = 4, 16
_OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
_MANY = 2000
"""Elements from which on gradients are compared along random directions, and not one by one."""
_LONGEST_REASON = 400
Value: TypeAlias = Any
"""A tensor of torch, which has no types here, or a number; or an operator of torch."""


class _Failed(Exception):
    """What a check has found, and a program that shows it."""

    def __init__(self, reason: str, reproducer: str = "") -> None:
        super().__init__(reason)
        self.reproducer = reproducer


class _LeftOut(Exception):
    """Why a check does not concern the operator."""


def checked(op: object, args: tuple[Value, ...], say: Callable[[str], object]) -> CheckedOperator:
    """Every check, of each a line to `say`."""
    subject = Subject(op, args)
    say(subject.name)
    found = []
    for name, check in _checks(subject):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch's own machinery, which is not what is checked
            found.append(_outcome(subject, name, check))
        say(str(found[-1]))
    return CheckedOperator(subject.name, tuple(found))


def _outcome(subject: Subject, name: str, check: Callable[[], str | None]) -> OperatorCheck:
    subject.begin()
    try:
        return OperatorCheck(name, PASSED, check() or "")
    except _LeftOut as reason:
        return OperatorCheck(name, LEFT_OUT, str(reason))
    except _Failed as failed:
        return OperatorCheck(name, FAILED, _shortened(str(failed)), failed.reproducer or subject.text(subject.args))
    except Exception as error:  # whatever torch or the operator raises is what the check has found
        return OperatorCheck(name, FAILED, _shortened(f"{type(error).__name__}: {error}"), subject.text(subject.args))


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_REASON else flat[:_LONGEST_REASON] + " …"


class Subject:
    """An operator with the arguments of a call, which stay as they are."""

    def __init__(self, op: Value, args: tuple[Value, ...]) -> None:
        self._given = tuple(map(_copied, args))
        self.begin()
        if isinstance(op, Operator):
            if op.default is None:  # the first call tells what is written
                op(*map(_copied, self.args))
            op = op.default
        if not isinstance(op, torch._ops.OpOverload):
            raise OperatorDeclarationError(
                "this is no operator of PyTorch",
                span=caller(),
                found=with_article(type(op).__name__),
                expected="what `triptych.torch.op` gives, or `torch.ops.library.name.default`",
            )
        self.op: Value = op
        self.name: str = op.name()
        given = op._schema.arguments
        self.written = [i for i, each in enumerate(given) if each.alias_info is not None and each.alias_info.is_write]
        self.tensors = [i for i, each in enumerate(self.args) if isinstance(each, torch.Tensor)]

    def begin(self) -> None:
        """Take the arguments anew: an operator may write what its schema does not say."""
        self.args = tuple(map(_copied, self._given))

    def run(self, args: Sequence[Value] | None = None, op: Value = None) -> list[Value]:
        """What a call gives: its results, and the tensors that it has written. The arguments are not written."""
        given = [_copied(each) if i in self.written else each for i, each in enumerate(args or self.args)]
        with torch.no_grad():
            found = (op or self.op)(*given)
        results = [] if found is None else list(found) if isinstance(found, (tuple, list)) else [found]
        return [*results, *(given[i] for i in self.written if i < len(given))]

    def changed(self, change: Callable[[Value], Value], *, written: bool = True) -> list[Value]:
        """The arguments with other tensors."""
        chosen = [i for i in self.tensors if written or i not in self.written]
        return [change(each) if i in chosen else each for i, each in enumerate(self.args)]

    @property
    def call(self) -> str:
        """The operator, as a program names it."""
        library, _, name = self.name.partition("::")
        short, _, overload = name.partition(".")
        return f"torch.ops.{library}.{short}.{overload or self.op._overloadname}"

    def text(self, args: Sequence[Value], before: str = "", after: str = "") -> str:
        """A program that calls the operator."""
        return f"{before or self.call + '('}{', '.join(map(_text, args))}{after or ')'}"


def _text(value: Value) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    shape, dtype, followed = tuple(value.shape), value.dtype, ".requires_grad_()" if value.requires_grad else ""
    if value.is_contiguous() and dtype.is_floating_point:
        return f"torch.randn({shape}, dtype={dtype}){followed}"
    filled = "normal_()" if dtype.is_floating_point else "random_(2)"
    return f"torch.empty_strided({shape}, {tuple(value.stride())}, dtype={dtype}).{filled}{followed}"


def _copied(value: Value) -> Value:
    """Not `clone`, which closes gaps."""
    has_memory = isinstance(value, torch.Tensor) and not value.is_meta
    return deepcopy(value.detach()) if has_memory else value


def _checks(subject: Subject) -> list[tuple[str, Callable[[], str | None]]]:
    return [
        ("every element of a result is written", partial(_every_element, subject)),
        *((f"opcheck: {each}", partial(_opcheck, subject, each)) for each in _OPCHECKS),
        ("gradients in float64", partial(_gradients, subject)),
        ("one graph of torch.compile", partial(_one_graph, subject)),
        ("torch.export, strict", partial(_export, subject, True)),
        ("torch.export, non-strict", partial(_export, subject, False)),
        ("every second element of a row", partial(_other_tensors, subject, _every_second)),
        ("columns", partial(_other_tensors, subject, _columns)),
        ("negated tensors", partial(_other_tensors, subject, _negated)),
        ("empty tensors", partial(_empty, subject)),
        (f"{THREADS} threads", partial(_threads, subject)),
    ]


def _compare(found: Sequence[Value], expected: Sequence[Value], what: str, reproducer: str) -> None:
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        try:
            torch.testing.assert_close(one, other, equal_nan=True, check_stride=False)
        except AssertionError as difference:
            raise _Failed(f"{what}: result {i}: {difference}", reproducer) from None


# PyTorch's own --------------------------------------------------------------------------------------------------------
def _opcheck(subject: Subject, name: str) -> None:
    args = tuple(map(_copied, subject.args))
    try:
        torch.library.opcheck(subject.op, args, test_utils=name)
    except Exception as error:
        before = f"torch.library.opcheck({subject.call}, ("
        text = subject.text(args, before, f",), test_utils={name!r})")
        raise _Failed(f"{type(error).__name__}: {error}", text) from None


def _gradients(subject: Subject) -> None:
    if subject.written or not subject.op._schema.returns:
        raise _LeftOut("it writes its arguments, which have no gradients")

    def doubled(tensor: Value) -> Value:
        return tensor.detach().double().clone().requires_grad_() if tensor.dtype.is_floating_point else tensor

    args = subject.changed(doubled)
    inputs = [args[i] for i in subject.tensors if args[i].requires_grad]

    def computed(*_: Value) -> tuple[Value, ...]:
        found = subject.op(*args)
        results = found if isinstance(found, (tuple, list)) else (found,)
        return tuple(each for each in results if each.dtype.is_floating_point)

    try:
        with_gradient = [each for each in computed() if each.requires_grad]
    except TriptychError as refused:
        raise _LeftOut(f"it takes no float64 ({refused.code}: {refused.title})") from None
    if not with_gradient or not inputs:
        raise _LeftOut("no result has a gradient")
    try:
        torch.autograd.grad([each.sum() for each in with_gradient], inputs, allow_unused=True)
    except OperatorGradientError:
        raise _LeftOut("it has no backward function") from None
    few = sum(each.numel() for each in inputs) < _MANY
    try:
        torch.autograd.gradcheck(computed, inputs, fast_mode=not few)
    except RuntimeError as difference:
        text = subject.text(args, f"torch.autograd.gradcheck({subject.call}, (", ",))")
        raise _Failed(str(difference), text) from None


def _one_graph(subject: Subject) -> None:
    names: dict[str, Any] = {"op": subject.op}
    exec("def program(*args):\n    return op(*args)", names)  # code of its own: torch has few graphs for one code
    compiled = torch.compile(names["program"], backend="aot_eager", fullgraph=True, dynamic=True)
    before = f"torch.compile({subject.call}, backend='aot_eager', fullgraph=True)("
    found = subject.run(op=compiled)
    _compare(found, subject.run(), "the graph computes something else", subject.text(subject.args, before))


class _Module(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """A call, as `torch.export` takes it."""

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self.op, self.written = subject.op, subject.written

    def forward(self, *args: Value) -> Any:
        found = self.op(*args)
        results = () if found is None else tuple(found) if isinstance(found, (tuple, list)) else (found,)
        return results + tuple(args[i].clone() for i in self.written if i < len(args))


def _export(subject: Subject, strict: bool) -> None:
    args = tuple(map(_copied, subject.args))
    auto = torch.export.Dim.AUTO
    shapes = tuple(dict.fromkeys(range(x.dim()), auto) if isinstance(x, torch.Tensor) else None for x in args)
    exported = torch.export.export(_Module(subject), args, dynamic_shapes={"args": shapes}, strict=strict)
    text = subject.text(args, f"torch.export.export(module_that_calls({subject.call}), (", f",), strict={strict})")
    if all(node.target is not subject.op for node in exported.graph.nodes):
        raise _Failed("the exported program does not have the operator", text)
    inputs = [node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"]
    extents = [n for each in inputs if isinstance(each, torch.Tensor) for n in each.shape]
    if any(n > 1 for i in subject.tensors for n in args[i].shape) and all(map(_is_fixed, extents)):
        raise _Failed("no dimension stayed dynamic", text)
    found = exported.module()(*map(_copied, subject.args))
    _compare(found, subject.run(), "the exported program computes something else", text)


def _is_fixed(extent: Value) -> bool:
    return not isinstance(extent, torch.SymInt) or extent.node.maybe_as_int() is not None


# other tensors --------------------------------------------------------------------------------------------------------
def _every_second(tensor: Value) -> Value:
    if not tensor.dim():
        return tensor
    wide = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]))[..., ::2]
    return wide.copy_(tensor)


def _columns(tensor: Value) -> Value:
    turned = tensor.permute(*reversed(range(tensor.dim())))
    return turned.clone(memory_format=torch.contiguous_format).permute(*reversed(range(tensor.dim())))


def _negated(tensor: Value) -> Value:
    signed = tensor.dtype.is_floating_point or tensor.dtype in (torch.int8, torch.int16, torch.int32, torch.int64)
    return torch._neg_view(-tensor) if signed else tensor


def _other_tensors(subject: Subject, change: Callable[[Value], Value]) -> str | None:
    args = subject.changed(change, written=change is not _negated)
    text = subject.text(args)
    try:
        found = subject.run(args)
    except TriptychError as refused:
        return f"refused ({refused.code})"
    _compare(found, subject.run(), "another result than for contiguous tensors", text)
    if change is not _negated:
        _compare_with_fake(subject, args, found)
    return None


def _compare_with_fake(subject: Subject, args: Sequence[Value], found: Sequence[Value]) -> None:
    bare = [_without_memory(each) if isinstance(each, torch.Tensor) else each for each in args]
    for i, (real, fake) in enumerate(zip(found, subject.run(bare), strict=True)):
        for what in ("shape", "stride", "dtype"):
            one, other = (each.stride() if what == "stride" else getattr(each, what) for each in (real, fake))
            if one != other:
                raise _Failed(f"result {i} has the {what} {one}, and {other} for fake tensors", subject.text(args))


def _without_memory(tensor: Value) -> Value:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _empty(subject: Subject) -> str | None:
    """The first mode of the first tensor is empty, and so are all modes of that extent."""
    extents = [n for i in subject.tensors for n in subject.args[i].shape[:1]]
    if not extents:
        raise _LeftOut("no argument has modes")
    args = subject.changed(lambda x: x.new_empty([0 if n == extents[0] else n for n in x.shape]))
    try:
        found = subject.run(args)
    except TriptychError as refused:
        return f"refused ({refused.code})"
    _compare_with_fake(subject, args, found)
    return None


# memory and threads ---------------------------------------------------------------------------------------------------
def _every_element(subject: Subject) -> None:
    """Results differ with what was in memory before where an element is never written."""
    if not subject.op._schema.returns:
        raise _LeftOut("it makes no results")
    found = []
    for before in (1, 77):
        _dirty(subject.run(), before)
        found.append([each.clone() for each in subject.run()])
    text = f"torch.use_deterministic_algorithms(True)  # fills new memory\n{subject.text(subject.args)}"
    found.append(_filled(subject))
    for other in found[1:]:
        _compare(found[0], other, "an element is never written, and is what was in memory before", text)


def _dirty(results: Sequence[Value], number: int) -> None:
    """Fill memory that the next results may be made of, and give it back."""
    blocks = [torch.empty_like(each).fill_(number) for each in results for _ in range(2)]
    blocks.clear()


def _filled(subject: Subject) -> list[Value]:
    """With new memory filled with NaN, or with the largest integer."""
    was, fills = torch.are_deterministic_algorithms_enabled(), torch.utils.deterministic.fill_uninitialized_memory
    only_warns = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        return subject.run()
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = fills
        torch.use_deterministic_algorithms(was, warn_only=only_warns)


def _threads(subject: Subject) -> None:
    expected = subject.run()
    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(lambda _: subject.run(), range(CALLS)):
            _compare(found, expected, "another result in another thread", subject.text(subject.args))
