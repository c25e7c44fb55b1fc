"""Native tensor types: which Python types compiled code reads by itself, and calls with any others.

NumPy arrays are read as the C structure that they are, torch's tensors through the function that their class offers
for it, our own views by their attribute. A type is entered when a tensor of it is first passed; tensors of types that
are not in the table are turned into views by Python.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from triptych.diagnostics.runtime_errors import ArgumentTypeError
from triptych.diagnostics.tensor_errors import (
    ArgumentTensorError,
    ArgumentTensorTypeError,
    UnsupportedTensorError,
    read_only_argument,
)
from triptych.driver.boundary import for_user
from triptych.interop.dlpack import ELEMENT_CODES, PACKED_ELEMENTS, array_type, describing_function
from triptych.interop.foreign_arrays import advice, foreign_array, is_foreign_array, offers_array
from triptych.interop.numpy_arrays import array_layout_is_known, is_array, is_masked
from triptych.interop.tensor_views import TensorView, passing_view
from triptych.interop.torch_tensors import TorchFields, check_settled, count_change, exporting, is_torch, torch_fields
from triptych.interop.torch_tracers import check_untraced
from triptych.stages import Leaf
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import caller

MOST_TYPES = 31
"""More types than programs have kinds of tensors: classes made at run time must not make the search long."""

_AS_ARRAY, _AS_VIEW, _CONVERTED = 1, 2, 3

WRITEABLE = 0x0400
_SYNONYMS = {"longlong": "Int64", "ulonglong": "Uint64"}
"""Types that are another one's twin on this machine."""


class _Entry(ctypes.Structure):
    """A type, what reads it (one of the numbers above or a function), and what is asked before: torch, or the Python
    function that makes an array of it."""

    _fields_ = [("type", ctypes.c_void_p), ("reader", ctypes.c_void_p), ("asked", ctypes.c_void_p)]


class _Element(ctypes.Structure):
    """The class of NumPy's scalars of an element type, and DLPack's code for it."""

    _fields_ = [("type", ctypes.c_void_p), ("code", ctypes.c_int64)]


_TYPES = (_Entry * (MOST_TYPES + 1))()
_ELEMENTS = (_Element * (len(ELEMENT_CODES) + len(_SYNONYMS) + 1))()
_KEPT: dict[int, type] = {}
"""The types that the table points to, kept alive, by identity."""


def table_addresses() -> tuple[int, int]:
    """The table of types and the table of NumPy's element types."""
    return ctypes.addressof(_TYPES), ctypes.addressof(_ELEMENTS)


def is_read_natively(kind: type) -> bool:
    """Whether compiled code reads tensors of this Python type; the type is entered if it can be."""
    if id(kind) in _KEPT:
        return True
    reader, free = _reader(kind), len(_KEPT)
    if reader is None or free == MOST_TYPES:
        return False
    _KEPT[id(kind)] = kind
    _TYPES[free].asked = _asked(kind, reader)
    _TYPES[free].reader = reader
    _TYPES[free].type = id(kind)
    return True


def _asked(kind: type, reader: int) -> int | None:
    if reader == _CONVERTED:
        return id(foreign_array)
    return ctypes.addressof(_fields()) if is_torch(kind) else None


def _reader(kind: type) -> int | None:
    if issubclass(kind, TensorView):
        return _AS_VIEW
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.ndarray):
        return _AS_ARRAY if _is_array_read() and not is_masked(kind) else None
    if offers_array(kind):
        return _CONVERTED if _is_array_read() else None
    return describing_function(kind) if not is_torch(kind) or torch_fields() is not None else None


def _fields() -> TorchFields:
    fields = torch_fields()
    assert fields is not None, "the caller has found PyTorch's fields"
    return fields


def _is_array_read() -> bool:
    """Whether compiled code knows where arrays have their parts; then the element types are entered too."""
    known = array_layout_is_known()
    if known:
        enter_elements()
    return known


def enter_elements() -> None:
    """Enter the element types that exist by now: those of ml_dtypes do when it has been imported."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    _enter_elements(numpy, "ml_dtypes" in sys.modules)


@cache
def _enter_elements(numpy: Any, _narrow: bool) -> None:
    names = {**{array_type(element): element for element in ELEMENT_CODES}, **_SYNONYMS}
    entered = 0
    for name, element in names.items():
        try:
            kind = numpy.dtype(name).type
        except TypeError:
            continue
        code, bits = ELEMENT_CODES[element]
        _ELEMENTS[entered].code = code | bits << 8 | 1 << 16
        _ELEMENTS[entered].type = id(kind)
        entered += 1


# Tensor calls that compiled code cannot read by itself: Python makes views of the tensors and calls again.
#
# The type of every tensor is entered in the table of `tensor_types` on the way, so for NumPy and torch this happens
# once.

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
            instead=advice(value),
        )
    return _naming(leaf, passing_view, value)


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
