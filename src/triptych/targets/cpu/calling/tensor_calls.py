"""Tensor calls that compiled code cannot read by itself: Python makes views of the tensors and calls again.

The type of every tensor is entered in the table of `tensor_types` on the way, so for NumPy and torch this happens once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from triptych.diagnostics.runtime_errors import ArgumentTypeError
from triptych.diagnostics.tensor_errors import (
    ArgumentTensorError,
    ArgumentTensorTypeError,
    UnsupportedTensorError,
    read_only_argument,
)
from triptych.driver.boundary import for_user
from triptych.interop.dlpack import PACKED_ELEMENTS, TensorView, is_array, is_masked, passing_view
from triptych.interop.foreign_arrays import foreign_array, is_foreign_array
from triptych.interop.torch_tensors import check_settled, count_change, exporting, is_torch, torch_fields
from triptych.interop.torch_tracers import check_untraced
from triptych.stages import Leaf
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import caller
from triptych.targets.cpu.calling.native_types import enter_elements, is_read_natively

T = TypeVar("T")

_ENTERED: set[type] = set()
"""Types of views that have been looked at on the way."""


def calling_with_views(
    leaves: Sequence[Leaf], native: Callable[[], Callable[..., Any]], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """What takes the calls that `native` does not: again with views or, if tensors are not the reason, `otherwise`."""

    def call(*args: Any) -> Any:
        try:
            if len(args) != len(leaves):
                return otherwise(*args)
            views = [_readable(arg, leaf) for arg, leaf in zip(args, leaves, strict=True)]
            # A type that has just been entered in the table is read by compiled code now.
            entered = {type(view) for view in views if isinstance(view, TensorView)} - _ENTERED
            _ENTERED.update(entered)
            if not entered and all(view is arg for view, arg in zip(views, args, strict=True)):
                return otherwise(*args)
            return native()(*views)
        except Exception as error:
            for_user(error)
            raise

    return call


def calling_with_tensors(leaves: Sequence[Leaf], call: Callable[..., Any]) -> Callable[..., Any]:
    """The call path for tensors: what it cannot read, and what it would read wrongly, is an error of ours."""

    def checked(*args: Any) -> Any:
        try:
            _each_tensor(args, leaves, _check)
            if len(args) != len(leaves):
                return call(*args)
            try:
                return call(*map(_exported, args, leaves))
            finally:
                _each_tensor(args, leaves, _count)
        except TriptychError as error:
            for_user(error)
            raise
        except (BufferError, RuntimeError) as error:  # of the library whose tensor it is
            refusal = _refusal(args, leaves, error)
            for_user(refusal)
            raise refusal from None

    return checked


def attempting(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, giving NotImplemented for tensors that the function was not compiled for."""

    def attempt(*args: Any) -> Any:
        try:
            return call(*args)
        except (ArgumentTensorError, ArgumentTensorTypeError, UnsupportedTensorError):
            return NotImplemented

    return attempt


def refused(*_: Any) -> Any:
    """What a quiet entry point gives for a call that it does not take."""
    return NotImplemented


def _each_tensor(args: Sequence[Any], leaves: Sequence[Leaf], check: Callable[[Any, Leaf], Any]) -> None:
    for arg, leaf in zip(args, leaves, strict=False):
        if leaf.memory is not None:
            check(arg, leaf)


def _exported(value: object, leaf: Leaf) -> object:
    """The tensor as the call path takes it."""
    if leaf.memory is None:
        return value
    return foreign_array(value) if is_foreign_array(value) else exporting(value)


def _count(value: object, leaf: Leaf) -> None:
    """Let autograd know that a tensor may have been written to."""
    tensor = value.counted if isinstance(value, TensorView) else value
    if leaf.memory is not None and leaf.memory.written and is_torch(type(tensor)):
        count_change(tensor)


def _refusal(args: Sequence[Any], leaves: Sequence[Leaf], error: Exception) -> Exception:
    """What to say of tensors that could not be passed: of one of them, or of all that the call path takes."""
    try:
        _each_tensor(args, leaves, _readable)
    except TriptychError as refusal:
        return refusal
    if not isinstance(error, BufferError):
        return error
    return _with_several_results(f"{type(error).__name__}: {error}")


def _with_several_results(found: str) -> UnsupportedTensorError:
    return UnsupportedTensorError(
        "a tensor cannot be passed to a function with several results",
        span=caller(),
        found=found,
        expected="tensors that export themselves: not read-only or packed ones, and no narrow floats of NumPy",
        instead="a copy, or a tensor argument in the place of the results",
    )


def _check(value: object, leaf: Leaf) -> None:
    """Refuse what compiled code refuses by itself where it reads tensors; of known libraries, only ask what matters."""
    kind = type(value)
    if leaf.dtype in PACKED_ELEMENTS:
        raise _with_several_results(f"argument {leaf.path!r}, a tensor of {leaf.dtype}")
    if is_torch(kind):
        _naming(leaf, check_settled, value)
    elif not isinstance(value, TensorView) and (not is_array(value) or is_masked(kind)):
        _readable(value, leaf)


def _naming(leaf: Leaf, ask: Callable[[Any], T], value: object) -> T:
    """Ask something of a tensor; errors name the argument that it is."""
    try:
        return ask(value)
    except UnsupportedTensorError as error:
        error.title = f"argument {leaf.path!r}: {error.title}"
        error.span = caller()
        raise


def _readable(value: object, leaf: Leaf) -> object:
    if leaf.memory is None:
        return value
    enter_elements()
    view = _view(value, leaf)
    is_read_natively(type(value))
    is_read_natively(type(view))
    if view.read_only and leaf.memory.written:
        raise read_only_argument(leaf.path, value, caller())
    if view.counted is not None and torch_fields() is None:  # compiled code cannot find where versions are counted
        _count(view, leaf)
        return view.uncounted()
    return view


def _view(value: object, leaf: Leaf) -> TensorView:
    check_untraced(value)
    if not isinstance(value, TensorView) and not hasattr(type(value), "__dlpack__") and not is_foreign_array(value):
        raise ArgumentTypeError(
            f"argument {leaf.path!r} must be a tensor, not {_kind(value)}",
            span=caller(),
            found=_kind(value),
            expected=f"a tensor of {leaf.dtype}: a NumPy array, a torch tensor, or another object with `__dlpack__`",
        )
    return _naming(leaf, passing_view, value)


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
