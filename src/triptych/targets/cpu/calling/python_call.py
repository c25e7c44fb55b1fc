"""Vectorcall entry point, in CPython's own calling convention, for functions over numbers and tensors.

Ints, floats, bools and tensors are packed by compiled code and the result becomes a Python object there too; everything
else goes to the call path, which is loaded only then. Measured against going through the call path always: half the
time of a call, no foreign frame in a traceback, and no 200 ms import before the first result.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from triptych.stages import Lowered, Traced
from triptych.targets.cpu.abi.abi import BOOL_TAG, FLOAT_TAG, INT_TAG, QUIET, UNFIT
from triptych.targets.cpu.calling.native_types import table_addresses
from triptych.targets.cpu.calling.python_call_tensors import (
    READ_TENSORS,
    TENSOR_FUNCTIONS,
    TENSOR_SPACE,
    tensor_argument,
    tensor_change,
    tensor_release,
    tensor_space,
)
from triptych.targets.cpu.calling.scalars import SCALARS

PYTHON_CALL = "triptych_python_call"

PYTHON_CALL_FUNCTIONS = (
    *("PyLong_AsLongLongAndOverflow", "PyFloat_AsDouble", "PyObject_Vectorcall"),
    *("PyEval_SaveThread", "PyEval_RestoreThread"),
    *("PyLong_FromLongLong", "PyFloat_FromDouble", "PyBool_FromLong", "Py_IncRef", "Py_DecRef"),
    *TENSOR_FUNCTIONS,
)

_TYPE_OFFSET = ctypes.sizeof(ctypes.c_void_p)
_CONTENT_OFFSET = bytes.__basicsize__ - 1
"""Of `bytes`, which end in a zero."""
_FASTCALL = 0x0080


class _Site(ctypes.Structure):
    """What the compiled entry point finds at run time: the objects it compares with, and what takes other calls."""

    _fields_ = [
        *((name, ctypes.py_object) for name in ("int", "float", "bool", "true", "none", "elsewhere", "read", "write")),
        *((name, ctypes.c_void_p) for name in ("types", "elements", "quiet")),
    ]


class _MethodDefinition(ctypes.Structure):
    """`PyMethodDef` of the C interface."""

    _fields_ = [
        ("name", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_void_p),
    ]


@cache
def _layout_is_known() -> bool:
    """Whether the parts of objects are where compiled code looks (not so in free-threaded or debug builds)."""
    content = b"content"
    is_type_there = ctypes.c_void_p.from_address(id(1) + _TYPE_OFFSET).value == id(int)
    return is_type_there and ctypes.string_at(id(content) + _CONTENT_OFFSET) == content


def has_python_call(traced: Traced) -> bool:
    """Whether a function gets this entry point: at most one result, and every number within 64 signed bits."""
    scalars = [SCALARS[leaf.dtype] for leaf in (*traced.parameters, *traced.results) if leaf.memory is None]
    return _layout_is_known() and len(traced.results) < 2 and not any(scalar.exceeds_63_bits for scalar in scalars)


def with_python_call(llvm: str, lowered: Lowered) -> str:
    """The module with the entry point added, if it gets one."""
    traced = lowered.traced
    if not has_python_call(traced):
        return llvm
    count = len(traced.parameters)
    save, restore = ("%state = call ptr @PyEval_SaveThread()", "call void @PyEval_RestoreThread(ptr %state)")
    kind = SCALARS[traced.results[0].dtype].kind if traced.results else "none"
    tensors = [(i, leaf, leaf.memory) for i, leaf in enumerate(traced.parameters) if leaf.memory is not None]
    arguments = [_ARGUMENT.format(i=i, next=i + 1) for i in range(count)]
    for i, leaf, memory in tensors:
        arguments[i] = tensor_argument(i, leaf, memory)
    entry = _TEMPLATE.format(
        count=count,
        space="".join([TENSOR_SPACE if tensors else "", *(tensor_space(i, memory) for i, _, memory in tensors)]),
        arguments="".join(arguments),
        entry=lowered.entry,
        save=save if traced.loops else "",
        restore=restore if traced.loops else "",
        changes="".join(tensor_change(i) for i, _, memory in tensors if memory.written),
        released_after="".join(tensor_release(i, "after") for i, _, _ in tensors),
        released_before="".join(tensor_release(i, "before") for i, _, _ in tensors),
        result=_RESULTS[kind],
    )
    return llvm + (READ_TENSORS if tensors else "") + entry


def python_function(
    name: str, address: int, elsewhere: Callable[..., Any], code: object, *, quiet: bool = False
) -> Callable[..., Any]:
    """The entry point as a Python builtin; calls that it does not take go to `elsewhere`. It keeps `code` mapped.

    Tensors that do not fit are an error, or, when `quiet`, a call that it does not take.
    """
    site = _Site(int, float, bool, True, None, elsewhere, *_VIEW_NAMES, *table_addresses(), QUIET if quiet else None)
    memory, definition = _memory_of_builtin(site, name.encode(), address)
    module = _KeepingName(__name__)
    module.kept = (elsewhere, code)
    function: Callable[..., Any] = _new_builtin(definition, memory, module)
    return function


def _memory_of_builtin(site: _Site, name: bytes, function: int) -> tuple[bytes, int]:
    """What C code reads of a builtin, which holds it as `__self__`, and the address of its definition.

    Python reads the definition when it frees the builtin. In a cycle, memory that the collector sees, such as that of
    `ctypes`, is freed before; `bytes` it does not see.
    """
    at_definition = ctypes.sizeof(_Site)
    at_name = at_definition + ctypes.sizeof(_MethodDefinition)
    memory = bytes(at_name + len(name) + 1)
    begin = id(memory) + _CONTENT_OFFSET
    definition = _MethodDefinition(begin + at_name, function, _FASTCALL, None)
    content = bytes(site) + bytes(definition) + name  # nobody else has seen these bytes yet
    ctypes.memmove(begin, content, len(content))
    return memory, begin + at_definition


class _KeepingName(str):
    """The `__module__` of a builtin, which the builtin holds: what it refers to lives as long as it."""

    kept: tuple[Any, ...]


_VIEW_NAMES = (sys.intern("__dltensor__"), sys.intern("__writable_dltensor__"))

_new_builtin: Any = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)

_RESULTS = {
    "none": """
  %none_place = getelementptr ptr, ptr %site, i64 4
  %object = load ptr, ptr %none_place
  call void @Py_IncRef(ptr %object)
""",
    "boolean": "  %object = call ptr @PyBool_FromLong(i64 %payload)\n",
    "signed": "  %object = call ptr @PyLong_FromLongLong(i64 %payload)\n",
    "unsigned": "  %object = call ptr @PyLong_FromLongLong(i64 %payload)\n",
    "float": """
  %real = bitcast i64 %payload to double
  %object = call ptr @PyFloat_FromDouble(double %real)
""",
}

_ARGUMENT = """
argument{i}:
  %place{i} = getelementptr ptr, ptr %arguments, i64 {i}
  %object{i} = load ptr, ptr %place{i}
  %any{i} = getelementptr %triptych.any, ptr %packed, i64 {i}
  %taken{i} = call i1 @triptych.pack(ptr %site, ptr %object{i}, ptr %any{i})
  br i1 %taken{i}, label %argument{next}, label %elsewhere
"""

# Not optimised: that would double the time LLVM takes for a small function, to save 2 ns of a call.
_TEMPLATE = f"""
%triptych.any = type {{{{ i32, i32, i64 }}}}

declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyBool_FromLong(i64)
declare void @Py_IncRef(ptr)

; packs an int, a float or a bool; false for anything else
define internal i1 @triptych.pack(ptr %site, ptr %object, ptr %any) noinline optnone {{{{
  %overflow = alloca i32
  %type_place = getelementptr i8, ptr %object, i64 {_TYPE_OFFSET}
  %type = load ptr, ptr %type_place
  %payload = getelementptr %triptych.any, ptr %any, i64 0, i32 2
  %int = load ptr, ptr %site
  %is_int = icmp eq ptr %type, %int
  br i1 %is_int, label %integer, label %other
integer:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %exceeds = load i32, ptr %overflow
  %fits = icmp eq i32 %exceeds, 0
  store i64 %whole, ptr %payload
  store i32 {INT_TAG}, ptr %any
  ret i1 %fits
other:
  %float_place = getelementptr ptr, ptr %site, i64 1
  %float = load ptr, ptr %float_place
  %is_float = icmp eq ptr %type, %float
  br i1 %is_float, label %floating, label %another
floating:
  %real = call double @PyFloat_AsDouble(ptr %object)
  store double %real, ptr %payload
  store i32 {FLOAT_TAG}, ptr %any
  ret i1 true
another:
  %bool_place = getelementptr ptr, ptr %site, i64 2
  %bool = load ptr, ptr %bool_place
  %true_place = getelementptr ptr, ptr %site, i64 3
  %true = load ptr, ptr %true_place
  %is_bool = icmp eq ptr %type, %bool
  %is_true = icmp eq ptr %object, %true
  %truth = zext i1 %is_true to i64
  store i64 %truth, ptr %payload
  store i32 {BOOL_TAG}, ptr %any
  ret i1 %is_bool
}}}}

define ptr @{PYTHON_CALL}(ptr %self, ptr %arguments, i64 %given) noinline optnone {{{{
  %packed = alloca [{{count}} x %triptych.any]{{space}}
  %result = alloca %triptych.any
  %site = getelementptr i8, ptr %self, i64 {_CONTENT_OFFSET}
  %counted = icmp eq i64 %given, {{count}}
  br i1 %counted, label %argument0, label %elsewhere
{{arguments}}
argument{{count}}:
  {{save}}
  %quiet_place = getelementptr ptr, ptr %site, i64 10
  %quiet = load ptr, ptr %quiet_place
  %status = call i32 @"{{entry}}"(ptr %quiet, ptr %packed, i32 {{count}}, ptr %result) noinline
  {{restore}}
  %is_unfit = icmp eq i32 %status, {UNFIT}
  br i1 %is_unfit, label %elsewhere, label %ran
ran:
{{changes}}{{released_after}}  %is_done = icmp eq i32 %status, 0
  br i1 %is_done, label %done, label %failed
done:
  %payload_place = getelementptr %triptych.any, ptr %result, i64 0, i32 2
  %payload = load i64, ptr %payload_place
{{result}}
  ret ptr %object
failed:
  ret ptr null
elsewhere:
{{released_before}}  %elsewhere_place = getelementptr ptr, ptr %site, i64 5
  %callable = load ptr, ptr %elsewhere_place
  %returned = call ptr @PyObject_Vectorcall(ptr %callable, ptr %arguments, i64 %given, ptr null)
  ret ptr %returned
}}}}
"""
