"""LLVM IR of the handler that XLA calls for every compiled function, in machine code: a warm call needs no Python.

Input of a call: XLA's frame, whose one attribute is the text of a program. Output: null, or an error of XLA's. The
program is looked up by its text in a table of ours; Python is asked for one that is not there, once. Its arguments are
packed on the stack, tensors as DLPack describes them, and its packed entry checks their types, ranks and layouts.
"""

from __future__ import annotations

import ctypes
from typing import Any

from triptych.frameworks.xla_structs import (
    CONSTANTS,
    ELEMENT_NUMBERS,
    ELEMENT_TYPES,
    NUMBER,
    OUTPUT,
    Api,
    Buffer,
    ByteSpan,
    CallFrame,
    CallProgram,
    ErrorCreateArgs,
    Item,
    Metadata,
    MetadataExtension,
)
from triptych.interop.dlpack import CPU, ELEMENT_CODES, DLTensor
from triptych.targets.cpu.abi.abi import BOOL_TAG, FLOAT_TAG, INT_TAG, VIEW_TAG
from triptych.targets.cpu.runtime.pool_fault_code import text_global

HANDLER = "triptych_xla_call"
KEEP = "triptych_xla_keep"
FIND_PROGRAM = "triptych_xla_find_program"
ERROR_TEXT = "triptych_xla_error_text"
"""Python functions: of the address and length of a program's text; of an exception, which gives bytes."""

PYTHON_FUNCTIONS = (
    *("PyGILState_Ensure", "PyGILState_Release", "PyGILState_GetThisThreadState", "PyEval_SaveThread"),
    *("PyObject_CallFunction", "PyObject_CallOneArg", "PyErr_Fetch", "PyErr_NormalizeException", "PyErr_Clear"),
    *("PyBytes_AsString", "Py_DecRef"),
)

_TYPES = 64
"""Element types of XLA have smaller numbers."""
_BUCKETS = 12
"""Bits of a bucket's number."""


def _at(base: str, structure: type[ctypes.Structure], *path: str) -> str:
    """The operation that gives the address of a field."""
    offset = 0
    kind: Any = structure
    for name in path:
        offset += getattr(kind, name).offset
        kind = dict(kind._fields_)[name]
    return f"getelementptr i8, ptr {base}, i64 {offset}"


def _load(name: str, base: str, kind: str, structure: type[ctypes.Structure], *path: str) -> str:
    """Lines that load a field."""
    return f"  %{name}.at = {_at(base, structure, *path)}\n  %{name} = load {kind}, ptr %{name}.at"


def _element_table() -> str:
    """DLPack's code, bits and lanes of element types, by XLA's numbers; 0 for those that the language has not."""
    words = [0] * _TYPES
    for name, number in ELEMENT_NUMBERS.items():
        code, bits = ELEMENT_CODES[ELEMENT_TYPES[name]]
        words[number] = code | bits << 8 | 1 << 16
    return f"@elements = internal constant [{_TYPES} x i32] [{', '.join(f'i32 {word}' for word in words)}]"


_TEXTS = {
    "no_text": "this is no call of a function of Triptych: it has not the one attribute that names a program",
    "miscounted": "the program takes another number of inputs and outputs than this call has",
    "unfound": "the program was found, and is not in the table",
    "untold": "the function failed, and did not say why",
}

_TABLE = f"""
define internal ptr @bucket(ptr %text) {{
  %first = load i64, ptr %text, align 1
  %mixed = mul i64 %first, -7046029254386353131
  %number = lshr i64 %mixed, {64 - _BUCKETS}
  %place = getelementptr [{1 << _BUCKETS} x ptr], ptr @programs, i64 0, i64 %number
  ret ptr %place
}}

define internal ptr @find(ptr %text, i64 %size) {{
entry:
  %long = icmp uge i64 %size, 8
  br i1 %long, label %look, label %none
look:
  %bucket = call ptr @bucket(ptr %text)
  %head = load atomic ptr, ptr %bucket acquire, align 8
  br label %next
next:
  %program = phi ptr [ %head, %look ], [ %following, %other ]
  %ended = icmp eq ptr %program, null
  br i1 %ended, label %none, label %compare
compare:
{_load("own_size", "%program", "i64", CallProgram, "size")}
  %as_long = icmp eq i64 %own_size, %size
  br i1 %as_long, label %bytes, label %other
bytes:
{_load("own_text", "%program", "ptr", CallProgram, "text")}
  %order = call i32 @memcmp(ptr %own_text, ptr %text, i64 %size)
  %equal = icmp eq i32 %order, 0
  br i1 %equal, label %found, label %other
other:
{_load("following", "%program", "ptr", CallProgram, "next")}
  br label %next
found:
  ret ptr %program
none:
  ret ptr null
}}

; Called by one thread at a time, while others look.
define void @{KEEP}(ptr %program) {{
{_load("text", "%program", "ptr", CallProgram, "text")}
  %bucket = call ptr @bucket(ptr %text)
  %head = load atomic ptr, ptr %bucket acquire, align 8
  %next = {_at("%program", CallProgram, "next")}
  store ptr %head, ptr %next
  store atomic ptr %program, ptr %bucket release, align 8
  ret void
}}
"""

_ERRORS = f"""
define internal ptr @refuse(ptr %frame, i32 %code, ptr %text) {{
  %facts = alloca [{ctypes.sizeof(ErrorCreateArgs)} x i8], align 8
{_load("api", "%frame", "ptr", CallFrame, "api")}
{_load("create", "%api", "ptr", Api, "XLA_FFI_Error_Create")}
  store i64 {ErrorCreateArgs.errc.offset + 4}, ptr %facts
  %extension = {_at("%facts", ErrorCreateArgs, "extension_start")}
  store ptr null, ptr %extension
  %message = {_at("%facts", ErrorCreateArgs, "message")}
  store ptr %text, ptr %message
  %errc = {_at("%facts", ErrorCreateArgs, "errc")}
  store i32 %code, ptr %errc
  %error = call ptr %create(ptr %facts)
  ret ptr %error
}}

; The exception of this thread as an error of XLA's; then it is set no more. Python's lock is held.
define internal ptr @raised(ptr %frame, i32 %code) cold {{
entry:
  %kind.at = alloca ptr
  %value.at = alloca ptr
  %trace.at = alloca ptr
  call void @PyErr_Fetch(ptr %kind.at, ptr %value.at, ptr %trace.at)
  call void @PyErr_NormalizeException(ptr %kind.at, ptr %value.at, ptr %trace.at)
  %kind = load ptr, ptr %kind.at
  %value = load ptr, ptr %value.at
  %trace = load ptr, ptr %trace.at
  %none = icmp eq ptr %value, null
  br i1 %none, label %untold, label %told
told:
  %bytes = call ptr @PyObject_CallOneArg(ptr @{ERROR_TEXT}, ptr %value)
  call void @Py_DecRef(ptr %kind)
  call void @Py_DecRef(ptr %value)
  call void @Py_DecRef(ptr %trace)
  %failed = icmp eq ptr %bytes, null
  br i1 %failed, label %untold, label %text
text:
  %message = call ptr @PyBytes_AsString(ptr %bytes)
  %error = call ptr @refuse(ptr %frame, i32 %code, ptr %message)
  call void @Py_DecRef(ptr %bytes)
  ret ptr %error
untold:
  call void @PyErr_Clear()
  %plain = call ptr @refuse(ptr %frame, i32 {CONSTANTS["XLA_FFI_Error_Code_INTERNAL"]}, ptr @untold)
  ret ptr %plain
}}
"""

_TENSORS = f"""
; Describes a buffer as a tensor; strides are of row-major order, modes in an order that an item may give.
define internal void @describe(ptr %tensor, ptr %buffer, ptr %item, ptr %strides, ptr %extents) alwaysinline {{
entry:
{_load("data", "%buffer", "ptr", Buffer, "data")}
{_load("rank", "%buffer", "i64", Buffer, "rank")}
{_load("dims", "%buffer", "ptr", Buffer, "dims")}
{_load("dtype", "%buffer", "i32", Buffer, "dtype")}
  store ptr %data, ptr %tensor
  %device = {_at("%tensor", DLTensor, "device")}
  store i64 {CPU}, ptr %device
  %modes = trunc i64 %rank to i32
  %rank.to = {_at("%tensor", DLTensor, "rank")}
  store i32 %modes, ptr %rank.to
  %known = icmp ult i32 %dtype, {_TYPES}
  %number = select i1 %known, i32 %dtype, i32 0
  %element.at = getelementptr [{_TYPES} x i32], ptr @elements, i64 0, i32 %number
  %element = load i32, ptr %element.at
  %element.to = {_at("%tensor", DLTensor, "code")}
  store i32 %element, ptr %element.to
  %offset = {_at("%tensor", DLTensor, "offset")}
  store i64 0, ptr %offset
  %stride.to = {_at("%tensor", DLTensor, "stride")}
  %shape.to = {_at("%tensor", DLTensor, "shape")}
  br label %stride
stride:
  %left = phi i64 [ %rank, %entry ], [ %mode, %step ]
  %size = phi i64 [ 1, %entry ], [ %larger, %step ]
  %over = icmp eq i64 %left, 0
  br i1 %over, label %strided, label %step
step:
  %mode = sub i64 %left, 1
  %own = getelementptr i64, ptr %strides, i64 %mode
  store i64 %size, ptr %own
  %extent.at = getelementptr i64, ptr %dims, i64 %mode
  %extent = load i64, ptr %extent.at
  %larger = mul i64 %size, %extent
  br label %stride
strided:
{_load("order", "%item", "ptr", Item, "order")}
{_load("wanted", "%item", "i64", Item, "rank")}
  %plain = icmp eq ptr %order, null
  %fits = icmp eq i64 %wanted, %rank
  %permutes = select i1 %plain, i1 false, i1 %fits
  br i1 %permutes, label %permute, label %as_it_is
as_it_is:
  store ptr %dims, ptr %shape.to
  store ptr %strides, ptr %stride.to
  ret void
permute:
  store ptr %extents, ptr %shape.to
  %permuted = getelementptr i64, ptr %extents, i64 %rank
  store ptr %permuted, ptr %stride.to
  br label %move
move:
  %place = phi i64 [ 0, %permute ], [ %further, %one ]
  %done = icmp eq i64 %place, %rank
  br i1 %done, label %moved, label %one
one:
  %source.at = getelementptr i64, ptr %order, i64 %place
  %source = load i64, ptr %source.at
  %from.at = getelementptr i64, ptr %dims, i64 %source
  %from = load i64, ptr %from.at
  %to.at = getelementptr i64, ptr %extents, i64 %place
  store i64 %from, ptr %to.at
  %by.at = getelementptr i64, ptr %strides, i64 %source
  %by = load i64, ptr %by.at
  %into = getelementptr i64, ptr %permuted, i64 %place
  store i64 %by, ptr %into
  %further = add i64 %place, 1
  br label %move
moved:
  ret void
}}
"""


def _number_cases() -> tuple[str, str]:
    """The cases of a switch over element types, and blocks that read one element of each as a packed number."""
    kinds = {
        name: ("i" + name[1:], "sext" if name[0] == "S" else "zext") for name in ELEMENT_NUMBERS if name[0] in "SU"
    }
    cases, blocks = [], []
    for name, (kind, widen) in kinds.items():
        wide = "bitcast i64" if kind == "i64" else f"{widen} {kind}"
        cases.append(f"i32 {ELEMENT_NUMBERS[name]}, label %of_{name}")
        checked = (
            f"  %large_{name} = icmp slt i64 %w_{name}, 0\n"
            f"  br i1 %large_{name}, label %view, label %put_{name}\nput_{name}:\n"
        )
        blocks.append(
            f"of_{name}:\n  %e_{name} = load {kind}, ptr %data\n  %w_{name} = {wide} %e_{name} to i64\n"
            f"{checked if name == 'U64' else ''}"
            f"  store i64 {INT_TAG}, ptr %value\n  store i64 %w_{name}, ptr %payload.to\n  br label %filled"
        )
    cases.append(f"i32 {ELEMENT_NUMBERS['PRED']}, label %of_PRED")
    blocks.append(
        "of_PRED:\n  %e_PRED = load i8, ptr %data\n  %w_PRED = zext i8 %e_PRED to i64\n"
        f"  store i64 {BOOL_TAG}, ptr %value\n  store i64 %w_PRED, ptr %payload.to\n  br label %filled"
    )
    for name, kind, wide in (("F32", "float", "fpext float"), ("F64", "double", "bitcast double")):
        cases.append(f"i32 {ELEMENT_NUMBERS[name]}, label %of_{name}")
        blocks.append(
            f"of_{name}:\n  %e_{name} = load {kind}, ptr %data\n  %w_{name} = {wide} %e_{name} to double\n"
            f"  store i64 {FLOAT_TAG}, ptr %value\n  store double %w_{name}, ptr %payload.to\n  br label %filled"
        )
    return " ".join(cases), "\n".join(blocks)


def _pack() -> str:
    cases, blocks = _number_cases()
    return f"""
; Packs every argument of a program and calls it: 0, or the status of the failure, which Python knows.
define internal i32 @run(ptr %frame, ptr %program) {{
entry:
{_load("count", "%program", "i64", CallProgram, "count")}
{_load("items", "%program", "ptr", CallProgram, "items")}
{_load("called", "%program", "ptr", CallProgram, "entry")}
{_load("inputs", "%frame", "ptr", CallFrame, "args", "args")}
{_load("outputs", "%frame", "ptr", CallFrame, "rets", "rets")}
  %result = alloca [16 x i8], align 8
  %values = alloca [16 x i8], i64 %count, align 8
  %tensors = alloca [{ctypes.sizeof(DLTensor)} x i8], i64 %count, align 8
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %filled ]
  %ended = icmp eq i64 %i, %count
  br i1 %ended, label %call, label %fill
fill:
  %item = getelementptr [{ctypes.sizeof(Item)} x i8], ptr %items, i64 %i
  %value = getelementptr [16 x i8], ptr %values, i64 %i
  %payload.to = getelementptr i8, ptr %value, i64 8
{_load("kind", "%item", "i64", Item, "kind")}
{_load("index", "%item", "i64", Item, "index")}
  %constant = icmp eq i64 %kind, 0
  br i1 %constant, label %given, label %array
given:
{_load("tag", "%item", "i64", Item, "tag")}
{_load("payload", "%item", "i64", Item, "payload")}
  store i64 %tag, ptr %value
  store i64 %payload, ptr %payload.to
  br label %filled
array:
  %is_output = icmp eq i64 %kind, {OUTPUT}
  %among = select i1 %is_output, ptr %outputs, ptr %inputs
  %buffer.at = getelementptr ptr, ptr %among, i64 %index
  %buffer = load ptr, ptr %buffer.at
{_load("rank", "%buffer", "i64", Buffer, "rank")}
  %is_number = icmp eq i64 %kind, {NUMBER}
  %is_single = icmp eq i64 %rank, 0
  %reads = and i1 %is_number, %is_single
  br i1 %reads, label %number, label %view
view:
  %tensor = getelementptr [{ctypes.sizeof(DLTensor)} x i8], ptr %tensors, i64 %i
  %strides = alloca i64, i64 %rank, align 8
  %twice = mul i64 %rank, 2
  %extents = alloca i64, i64 %twice, align 8
  call void @describe(ptr %tensor, ptr %buffer, ptr %item, ptr %strides, ptr %extents)
  store i64 {VIEW_TAG}, ptr %value
  store ptr %tensor, ptr %payload.to
  br label %filled
number:
{_load("data", "%buffer", "ptr", Buffer, "data")}
{_load("dtype", "%buffer", "i32", Buffer, "dtype")}
  switch i32 %dtype, label %view [ {cases} ]
{blocks}
filled:
  %following = add i64 %i, 1
  br label %next
call:
  %short = trunc i64 %count to i32
  %status = call i32 %called(ptr null, ptr %values, i32 %short, ptr %result)
  ret i32 %status
}}
"""


_HANDLER = f"""
define ptr @{HANDLER}(ptr %frame) {{
entry:
{_load("extension", "%frame", "ptr", CallFrame, "extension_start")}
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %staged, label %extended
extended:
{_load("extends", "%extension", "i32", MetadataExtension, "extension_base", "type")}
  %asks = icmp eq i32 %extends, {CONSTANTS["XLA_FFI_Extension_Metadata"]}
  br i1 %asks, label %describe, label %staged
describe:
{_load("metadata", "%extension", "ptr", MetadataExtension, "metadata")}
  %major.to = {_at("%metadata", Metadata, "api_version", "major_version")}
  store i32 {CONSTANTS["XLA_FFI_API_MAJOR"]}, ptr %major.to
  %minor.to = {_at("%metadata", Metadata, "api_version", "minor_version")}
  store i32 MINOR, ptr %minor.to
  %traits.to = {_at("%metadata", Metadata, "traits")}
  store i32 0, ptr %traits.to
  ret ptr null
staged:
{_load("stage", "%frame", "i32", CallFrame, "stage")}
  %executes = icmp eq i32 %stage, {CONSTANTS["XLA_FFI_ExecutionStage_EXECUTE"]}
  br i1 %executes, label %attributed, label %nothing
nothing:
  ret ptr null
attributed:
{_load("attributes", "%frame", "i64", CallFrame, "attrs", "size")}
  %one = icmp eq i64 %attributes, 1
  br i1 %one, label %typed, label %no_text
typed:
{_load("kinds", "%frame", "ptr", CallFrame, "attrs", "types")}
  %kind = load i32, ptr %kinds
  %is_text = icmp eq i32 %kind, {CONSTANTS["XLA_FFI_AttrType_STRING"]}
  br i1 %is_text, label %named, label %no_text
named:
{_load("values", "%frame", "ptr", CallFrame, "attrs", "attrs")}
  %span = load ptr, ptr %values
{_load("text", "%span", "ptr", ByteSpan, "ptr")}
{_load("size", "%span", "i64", ByteSpan, "len")}
; Exceptions are kept in a thread's state of Python's: a thread of XLA's gets one with its first call, and keeps it.
  %own = call ptr @PyGILState_GetThisThreadState()
  %stateless = icmp eq ptr %own, null
  br i1 %stateless, label %attach, label %look
attach:
  %unused = call i32 @PyGILState_Ensure()
  %state = call ptr @PyEval_SaveThread()
  br label %look
look:
  %known = call ptr @find(ptr %text, i64 %size)
  %missing = icmp eq ptr %known, null
  br i1 %missing, label %ask, label %ready
ask:
  %lock = call i32 @PyGILState_Ensure()
  %address = ptrtoint ptr %text to i64
  %answer = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr @{FIND_PROGRAM}, ptr @numbers, i64 %address, i64 %size)
  %refused = icmp eq ptr %answer, null
  br i1 %refused, label %unknown, label %answered
unknown:
  %told = call ptr @raised(ptr %frame, i32 {CONSTANTS["XLA_FFI_Error_Code_NOT_FOUND"]})
  call void @PyGILState_Release(i32 %lock)
  ret ptr %told
answered:
  call void @Py_DecRef(ptr %answer)
  call void @PyGILState_Release(i32 %lock)
  %asked = call ptr @find(ptr %text, i64 %size)
  %lost = icmp eq ptr %asked, null
  br i1 %lost, label %unfound, label %ready
ready:
  %program = phi ptr [ %known, %look ], [ %asked, %answered ]
{_load("given", "%frame", "i64", CallFrame, "args", "size")}
{_load("made", "%frame", "i64", CallFrame, "rets", "size")}
{_load("inputs", "%program", "i64", CallProgram, "inputs")}
{_load("outputs", "%program", "i64", CallProgram, "outputs")}
  %all_given = icmp eq i64 %given, %inputs
  %all_made = icmp eq i64 %made, %outputs
  %counted = and i1 %all_given, %all_made
  br i1 %counted, label %call, label %miscounted
call:
  %status = call i32 @run(ptr %frame, ptr %program)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %succeeded, label %failed
succeeded:
  ret ptr null
failed:
  %again = call i32 @PyGILState_Ensure()
  %error = call ptr @raised(ptr %frame, i32 {CONSTANTS["XLA_FFI_Error_Code_INVALID_ARGUMENT"]})
  call void @PyGILState_Release(i32 %again)
  ret ptr %error
no_text:
  %e1 = call ptr @refuse(ptr %frame, i32 {CONSTANTS["XLA_FFI_Error_Code_INVALID_ARGUMENT"]}, ptr @no_text)
  ret ptr %e1
miscounted:
  %e2 = call ptr @refuse(ptr %frame, i32 {CONSTANTS["XLA_FFI_Error_Code_INVALID_ARGUMENT"]}, ptr @miscounted)
  ret ptr %e2
unfound:
  %e3 = call ptr @refuse(ptr %frame, i32 {CONSTANTS["XLA_FFI_Error_Code_INTERNAL"]}, ptr @unfound)
  ret ptr %e3
}}
"""

_DECLARATIONS = f"""
declare i32 @memcmp(ptr, ptr, i64)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyGILState_GetThisThreadState()
declare ptr @PyEval_SaveThread()
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare void @PyErr_Clear()
declare ptr @PyBytes_AsString(ptr)
declare void @Py_DecRef(ptr)
@{FIND_PROGRAM} = external global i8
@{ERROR_TEXT} = external global i8
@programs = internal global [{1 << _BUCKETS} x ptr] zeroinitializer
"""


def handler_code(minor: int) -> str:
    """The module's text. `minor` is the version of XLA's interface that the handler says it was made for."""
    texts = "".join(text_global(name, text) for name, text in {**_TEXTS, "numbers": "KK"}.items())
    parts = (_DECLARATIONS, texts, _element_table(), _TABLE, _ERRORS, _TENSORS, _pack())
    return "\n".join([*parts, _HANDLER.replace("MINOR", str(minor))])
