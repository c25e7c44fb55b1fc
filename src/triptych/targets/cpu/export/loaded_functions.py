"""Exported functions called from Python: arguments become the structures that C would pass.

Input: the metadata inside of the object, and its functions. Layouts are checked here, where there are words for what is
wrong, and again by the function itself.
"""

from __future__ import annotations

import ctypes
import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

from triptych.diagnostics.runtime_errors import ArgumentCountError, ArgumentTypeError, ExportedCallError
from triptych.diagnostics.tensor_errors import ArgumentTensorError, read_only_argument
from triptych.driver.boundary import for_user
from triptych.interop.dlpack import DLTensor, TensorView, passing_view
from triptych.interop.streams import is_stream_class, stream_handle
from triptych.metastage.values.numeric import Numeric
from triptych.stages import Memory
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import caller
from triptych.targets.cpu.calling.scalars import SCALARS, BoundaryScalar
from triptych.targets.cpu.calling.tensor_errors import tensor_error
from triptych.targets.cpu.export.c_interface import CFunction, CParameter
from triptych.targets.cpu.export.codes import OK, UNCHECKED

# Python numbers as the C types of an exported function's parameters, and back.

_INTEGERS: dict[tuple[str, int], Any] = {
    ("boolean", 8): ctypes.c_bool,
    **{("signed", width): getattr(ctypes, f"c_int{width}") for width in (8, 16, 32, 64)},
    **{("unsigned", width): getattr(ctypes, f"c_uint{width}") for width in (8, 16, 32, 64)},
}
_FLOATS: dict[str, Any] = {"Float16": ctypes.c_uint16, "BFloat16": ctypes.c_uint16, "Float32": ctypes.c_float}


def number_cell(scalar: BoundaryScalar, number: float) -> Any:
    """Memory that holds the number."""
    kind = number_type(scalar)
    if scalar.name == "Float16":
        return kind(struct.unpack("<H", struct.pack("<e", number))[0])
    return kind(_bfloat_bits(number) if scalar.name == "BFloat16" else number)


def number_type(scalar: BoundaryScalar) -> Any:
    """The type of that memory."""
    if scalar.kind == "float":
        return _FLOATS.get(scalar.name, ctypes.c_double)
    return _INTEGERS[scalar.kind, max(scalar.width, 8)]


def number_in(cell: Any, scalar: BoundaryScalar) -> Any:
    """The number that memory holds."""
    if scalar.name == "Float16":
        return struct.unpack("<e", struct.pack("<H", cell.value))[0]
    if scalar.name == "BFloat16":
        return struct.unpack("<f", struct.pack("<I", cell.value << 16))[0]
    return cell.value


def fits(scalar: BoundaryScalar, number: Any) -> bool:
    """Whether it is a number of this type, if need be rounded. An infinity is none of a finite number."""
    if scalar.kind == "boolean":
        return type(number) is bool
    if scalar.kind == "float":
        return type(number) in (int, float, bool) and _is_finite_as(scalar, number)
    return type(number) in (int, bool) and scalar.low <= number <= scalar.high


def _is_finite_as(scalar: BoundaryScalar, number: float) -> bool:
    try:
        wide = float(number)
        rounded = number_in(number_cell(scalar, wide), scalar)
    except OverflowError:
        return False
    return math.isinf(rounded) <= math.isinf(wide)


def _bfloat_bits(number: float) -> int:
    """Rounded once, to the nearest of eight significant bits."""
    if math.isfinite(number) and number:
        exponent = max(math.frexp(number)[1] - 8, -133)
        number = math.copysign(math.ldexp(round(math.ldexp(abs(number), -exponent)), exponent), number)
    bits: int = struct.unpack("<I", struct.pack("<f", number))[0]
    return bits >> 16 | (64 if math.isnan(number) else 0)


OTHER_LAYOUTS: list[Callable[[TriptychError], None]] = []
"""Who is told of a tensor with another layout than the function was compiled for, which is then passed all the same: by
the dynamic values of its own layout, as C would. Nobody by default: it is an error."""


class ExportedFunction:
    """A function of a loaded module. It takes its arguments in order or by name."""

    def __init__(self, function: CFunction, module: Any, call: Any, error_text: Callable[[], bytes]) -> None:
        self._function = function
        self._module = module
        self._call = call
        self._error_text = error_text
        self._names = list(dict.fromkeys(_root(parameter.leaf.path) for parameter in function.parameters))
        self._leaves = [parameter.leaf for parameter in function.parameters]

    def __repr__(self) -> str:
        takes = ", ".join(f"{leaf.path}: {leaf.type_text}" for leaf in self._leaves)
        return f"<exported function {self._function.prefix}({takes}), {self._function.target}>"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        try:
            values = self._values(args, keywords)
            flags = self._check_tensors(values)
            return self._run(
                [_cell(p, v, flags) for p, v in zip(self._function.parameters, values, strict=True)], flags
            )
        except Exception as error:
            for_user(error)
            raise

    def _values(self, args: Sequence[Any], keywords: dict[str, Any]) -> list[Any]:
        """What is passed for each parameter: a view of a tensor, a number, an address."""
        bound = dict(zip(self._names, args, strict=False)) | keywords
        if len(args) + len(keywords) != len(self._names) or bound.keys() != set(self._names):
            raise ArgumentCountError(
                f"{self._function.prefix}() takes {', '.join(self._names) or 'nothing'}",
                span=caller(),
                found=f"{len(args)} arguments" + "".join(f", {name}=" for name in keywords),
                expected=f"{len(self._names)} arguments",
                instead="each of them once: an exported function has no defaults",
            )
        return [_taken(p, _part(p.leaf.path, bound[_root(p.leaf.path)])) for p in self._function.parameters]

    def _check_tensors(self, values: Sequence[Any]) -> int:
        """Flags of the call."""
        views = {
            leaf.path: DLTensor.from_address(value.__dltensor__)
            for leaf, value in zip(self._leaves, values, strict=True)
            if isinstance(value, TensorView)
        }
        error = tensor_error(self._leaves, views, caller())
        if error is None:
            return 0
        if not OTHER_LAYOUTS or not isinstance(error, ArgumentTensorError) or self._function.result is not None:
            raise error
        for parameter, value in zip(self._function.parameters, values, strict=True):
            if isinstance(value, TensorView) and _own_strides(parameter, value) is None:
                raise error
        OTHER_LAYOUTS[-1](error)
        return UNCHECKED

    def _run(self, cells: list[Any], flags: int) -> Any:
        result = self._function.result
        scalar = None if result is None else SCALARS[result.dtype]
        place = None if scalar is None else number_type(scalar)()
        if place is not None:
            cells.append(place)
        arguments = (ctypes.c_void_p * max(len(cells), 1))(*map(ctypes.addressof, cells))
        code = self._call(self._module, arguments, flags)
        if self._function.prints:
            ctypes.CDLL(None).fflush(None)
        if code != OK:
            text = self._error_text().decode(errors="replace")
            raise ExportedCallError(f"{self._function.prefix} has failed: {text}", span=caller())
        return None if scalar is None else number_in(place, scalar)


def _root(path: str) -> str:
    found = re.match(r"\w+", path)
    return found[0] if found is not None else path


def _part(path: str, value: Any) -> Any:
    """What a path such as `p.x[1]` names in the argument `p`."""
    for attribute, index in re.findall(r"\.(\w+)|\[(-?\d+)\]", path):
        value = getattr(value, attribute) if attribute else value[int(index)]
    return value


def _taken(parameter: CParameter, value: Any) -> Any:
    path = parameter.leaf.path
    if parameter.memory is not None:
        if not isinstance(value, TensorView) and not hasattr(type(value), "__dlpack__"):
            raise _unlike(path, value, f"a tensor of {parameter.leaf.dtype}")
        view = passing_view(value)
        if view.read_only and parameter.memory.written:
            raise read_only_argument(path, value, caller())
        return view
    if parameter.is_address:
        if is_stream_class(type(value)):
            return stream_handle(value)
        address = getattr(value, "address", value)
        if type(address) is not int:
            raise _unlike(path, value, "a stream, a pointer or an address")
        return address
    number = value.__tvm_ffi_value__() if isinstance(value, Numeric) else value
    if not fits(parameter.scalar, number):
        raise _unlike(path, number, f"a number that fits in {parameter.scalar.name}")
    return number


def _unlike(path: str, value: object, expected: str) -> ArgumentTypeError:
    found = repr(value) if isinstance(value, int | float) else f"a value of type {type(value).__name__}"
    return ArgumentTypeError(
        f"argument {path!r} is not what the function takes", span=caller(), found=found, expected=expected
    )


def _cell(parameter: CParameter, value: Any, flags: int) -> Any:
    """Memory that holds what C passes for the parameter."""
    if isinstance(value, TensorView):
        return _structure(parameter, value, flags)
    if parameter.is_address:
        return ctypes.c_uint64(value)
    return number_cell(parameter.scalar, value)


def _structure(parameter: CParameter, view: TensorView, flags: int) -> Any:
    """The structure of the header: the address, the extents and the strides that are not known there."""
    own = _own_strides(parameter, view) if flags & UNCHECKED else None
    strides = [view.strides[i] for i in parameter.strides] if own is None else own
    fields: list[tuple[str, Any]] = [("data", ctypes.c_void_p)]
    fields += [("dynamic_shapes", ctypes.c_int32 * len(parameter.shapes))] if parameter.shapes else []
    fields += [("dynamic_strides", ctypes.c_int64 * len(parameter.strides))] if parameter.strides else []
    made = type("Tensor", (ctypes.Structure,), {"_fields_": fields})()
    made.data = view.address
    for k, i in enumerate(parameter.shapes):
        made.dynamic_shapes[k] = view.extents[i]
    for k, stride in enumerate(strides):
        made.dynamic_strides[k] = stride
    return made


def _own_strides(parameter: CParameter, view: TensorView) -> list[int] | None:
    """The strides of a tensor's own layout that a call would give: without as many as are fixed, wherever it has them.

    None when it has others, or holes: with another order of its modes, only compact elements stay within its memory.
    """
    memory = parameter.memory
    assert isinstance(memory, Memory)
    last = sum((extent - 1) * stride for extent, stride in zip(view.extents, view.strides, strict=True))
    given = list(view.strides)
    for i, text in enumerate(memory.stride):
        if i not in parameter.strides:
            if int(text) not in given:
                return None
            given.remove(int(text))
    fixed = all(view.extents[i] == int(text) for i, text in enumerate(memory.shape) if i not in parameter.shapes)
    return given if fixed and last + 1 == math.prod(view.extents) else None
