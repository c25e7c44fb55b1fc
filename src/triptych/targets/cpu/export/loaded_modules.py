"""Exported modules and functions in a Python process again: object files and shared libraries.

An object file is linked here; a shared library is opened as the system does. Which interface a function has is seen by
its symbols: our own structures, whose description is in the file, or TVM FFI.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import struct
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from triptych.diagnostics.runtime_errors import (
    ArgumentCountError,
    ArgumentTypeError,
    ExportedCallError,
    ExportedModuleError,
    MissingFunctionError,
)
from triptych.diagnostics.tensor_errors import OTHER_LAYOUTS, ArgumentTensorError, read_only_argument
from triptych.driver.boundary import for_user
from triptych.interop.dlpack import DLTensor
from triptych.interop.streams import is_stream_class, stream_handle
from triptych.interop.tensor_views import TensorView, passing_view
from triptych.ir import bindings
from triptych.ir.errors import CodegenError
from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.object_file import ObjectFile, is_elf
from triptych.metastage.arguments.specs import argument_parts
from triptych.metastage.values.numeric import Numeric
from triptych.stages import Memory
from triptych.support.tracebacks import caller
from triptych.targets.cpu.abi.abi import entry_symbol
from triptych.targets.cpu.calling.raising import tensor_error
from triptych.targets.cpu.calling.scalars import SCALARS, BoundaryScalar
from triptych.targets.cpu.export.c_interface import (
    ABI_VERSION,
    OK,
    UNCHECKED,
    CFunction,
    CParameter,
    pattern_symbol,
    read_metadata,
    share_symbol,
)

# Exported functions called from Python: arguments become the structures that C would pass.
#
# Input: the metadata inside of the object, and its functions. Layouts are checked here, where there are words for what
# is wrong, and again by the function itself.

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
    assert isinstance(memory, Memory), "the parameter is a tensor"
    last = sum((extent - 1) * stride for extent, stride in zip(view.extents, view.strides, strict=True))
    given = list(view.strides)
    for i, text in enumerate(memory.stride):
        if i not in parameter.strides:
            if int(text) not in given:
                return None
            given.remove(int(text))
    fixed = all(view.extents[i] == int(text) for i, text in enumerate(memory.shape) if i not in parameter.shapes)
    return given if fixed and last + 1 == math.prod(view.extents) else None


# Functions of TVM FFI take what compiled code receives. A call from Python says what the function was compiled for.

Pattern = int | dict[str, str] | list["Pattern"]
"""`ArgumentSpec.pattern`, read again."""


def _made_by(function: Callable[..., Any], name: str, patterns: list[Pattern]) -> Callable[..., Any]:
    """The function, called as the compiled one: with None where that was compiled for it, with tuples and objects."""
    needed = 1 + max((i for i, pattern in enumerate(patterns) if _receives(pattern)), default=-1)

    def call(*args: object) -> Any:
        try:
            if not needed <= len(args) <= len(patterns):
                raise ArgumentCountError(
                    f"{name}() takes {len(patterns)} arguments", span=caller(), found=f"{len(args)} arguments"
                )
            received = [
                value for pattern, arg in zip(patterns, args, strict=False) for value in _received(pattern, arg)
            ]
            return function(*received)
        except Exception as error:
            for_user(error)
            raise

    call.__name__ = call.__qualname__ = name
    return call


def _receives(pattern: Pattern) -> bool:
    return any(map(_receives, pattern)) if isinstance(pattern, list) else pattern == 1


def _received(pattern: Pattern, value: object) -> Iterator[Any]:
    """What compiled code receives of an argument of that `ArgumentSpec.pattern`."""
    if isinstance(pattern, list):
        parts = argument_parts(value)
        if parts is None or len(parts.values) != len(pattern):
            found = f"a value of type {type(value).__name__}" if parts is None else parts.summary()
            raise _another(found, f"{len(pattern)} parts")
        for each, part in zip(pattern, parts.values, strict=True):
            yield from _received(each, part)
    elif isinstance(pattern, dict):
        if repr(value) != pattern["is"] and not (pattern["may be left out"] and value is None):
            raise _another(repr(value), pattern["is"])
    elif pattern:
        yield value


def _another(found: str, expected: str) -> ArgumentTypeError:
    title = "an argument is not like the one that the function was compiled for"
    return ArgumentTypeError(title, span=caller(), found=found, expected=expected)


_KEPT: dict[bytes, LoadedObject] = {}
"""Object files with an entry for TVM FFI stay mapped until the process ends, each once: who else has such a function is
not known here. Others go with the last of their functions."""


class ExportedModule:
    """The functions of a file, as attributes."""

    def __init__(self, path: Path, find: Callable[[str], int]) -> None:
        self._path = path
        self._find = find

    def __repr__(self) -> str:
        return f"<exported module {str(self._path)!r}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            self.__dict__[name] = self._function(name)
        except Exception as error:
            for_user(error)
            raise
        return self.__dict__[name]

    def __getitem__(self, name: str) -> Any:
        """The same function, as modules of TVM FFI give theirs."""
        return getattr(self, name)

    def _function(self, name: str) -> Any:
        metadata, entry = self._find(f"{name}_triptych_metadata"), self._find(entry_symbol(name))
        if share := self._find(share_symbol(name)):
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(share)(ctypes.addressof(_keys()))
        if metadata:
            return self._with_structures(name, ctypes.string_at(metadata).decode())
        if entry:
            function = bindings.tvm_ffi().Function.__from_extern_c__(entry)
            text = self._find(pattern_symbol(name))
            patterns = json.loads(ctypes.string_at(text) or "null") if text else None
            return function if patterns is None else _made_by(function, name, patterns)
        raise MissingFunctionError(
            f"the module has no function {name!r}",
            span=caller(),
            found=self._path.name,
            expected="the name that was given as `function_prefix` or `function_name`",
        )

    def _with_structures(self, name: str, text: str) -> ExportedFunction:
        abi, interface, function = read_metadata(text)
        if abi != ABI_VERSION:
            raise ExportedModuleError(
                f"{name} was exported with another version of the interface",
                span=caller(),
                found=f"version {abi} in {self._path}",
                expected=f"version {ABI_VERSION}",
                instead="export it again with this version of Triptych",
            )
        pointer = ctypes.c_void_p
        error_text = ctypes.CFUNCTYPE(ctypes.c_char_p)(self._find(f"{name}_error_text"))
        load = self._c_function(f"{name}_triptych_load", pointer, ctypes.c_uint32, ctypes.c_uint64)
        call = self._c_function(f"{name}_triptych_call", pointer, pointer, ctypes.c_int32)
        module = (ctypes.c_uint64 * 2)()
        if load(module, ABI_VERSION, interface) != OK:
            text = error_text().decode(errors="replace")
            raise ExportedModuleError(f"{name} cannot be loaded: {text}", span=caller(), found=str(self._path))
        made = ExportedFunction(function, module, call, error_text)
        unload = self._c_function(f"{name}_triptych_unload", pointer)
        # `_find` keeps the code mapped until its threads have ended
        weakref.finalize(made, _unloaded, unload, module, self._find).atexit = False
        return made

    def _c_function(self, symbol: str, *kinds: Any) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(self._find(symbol))


def _unloaded(unload: Callable[[Any], int], module: Any, find: Callable[[str], int]) -> None:
    unload(module)


@cache
def _keys() -> Any:
    """Keys of threads for all modules of this process, of which it has 1024: launches, memory, errors."""
    kind, names = ctypes.c_uint32, ctypes.CDLL(None)
    made = (kind * 3)()
    for place, ends in enumerate((None, names.free, names.free)):
        destructor = ctypes.cast(ends, ctypes.c_void_p) if ends is not None else None
        if names.pthread_key_create(ctypes.byref(made, place * ctypes.sizeof(kind)), destructor):
            raise ExportedModuleError(
                "the process has no keys of threads left", span=caller(), found="PTHREAD_KEYS_MAX of them in use"
            )
    return made


def load_exported(path: str | os.PathLike[str]) -> ExportedModule:
    """Load a file that `export_to_c` wrote, or a shared library of such files."""
    file = Path(path)
    if not file.is_file():
        raise ExportedModuleError(
            "there is no such file", span=caller(), found=str(file), expected="an exported object or a shared library"
        )
    data = file.read_bytes()
    if is_elf(data):
        return _of_object(file, data)
    try:
        library = ctypes.CDLL(str(file.resolve()), mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise ExportedModuleError(
            "the file cannot be loaded",
            span=caller(),
            found=str(error),
            expected="an exported object file, or a shared library made of such files",
        ) from None
    return ExportedModule(file, lambda name: _address(library, name))


def _of_object(file: Path, data: bytes) -> ExportedModule:
    try:
        parsed = ObjectFile(data)
        for section in parsed.sections:
            if not section.is_zeros:
                parsed.content(section)
        defined = {symbol.name for symbol in parsed.symbols if symbol.section and symbol.name}
    except (struct.error, IndexError, ValueError) as error:
        raise ExportedModuleError(
            "the object file is damaged: it has another end than its header says, or was not written whole",
            span=caller(),
            found=f"{len(data)} bytes in {file} ({error})",
            expected="the file as `export_to_c` wrote it",
        ) from None
    wanted = sorted(name for name in defined if "_triptych_" in name or name.endswith("_error_text"))
    entries = sorted(name for name in defined if name.startswith(entry_symbol("")))
    if not wanted and not entries:
        raise ExportedModuleError(
            "the object file was not exported by Triptych",
            span=caller(),
            found=str(file),
            expected="one that `export_to_c` wrote",
        )
    try:
        symbols, names = _call_path_symbols() if entries else {}, (*wanted, *entries)
        code = _KEPT.get(data) or load_object(data, names[0], symbols, *names)
    except CodegenError as error:
        raise ExportedModuleError("the object file cannot be linked", span=caller(), found=error.found) from None
    if entries:
        _KEPT[data] = code
    return ExportedModule(file, lambda name: _symbol(code, name, defined))


def _symbol(code: LoadedObject, name: str, defined: set[str]) -> int:
    return int(code.library[name]) if name in defined else 0


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 if hasattr(library, name) else 0


def _call_path_symbols() -> dict[str, int]:
    library = ctypes.CDLL(bindings.tvm_ffi().libinfo.find_libtvm_ffi())
    names = ("ErrorSetRaisedFromCStr", "BigIntGetContentByteArray", "BigIntFromByteArray", "EnvGetStream")
    return {f"TVMFFI{name}": _address(library, f"TVMFFI{name}") for name in names}
