"""LLVM IR of the handler that XLA calls for every compiled function, in machine code: a warm call needs no Python.

Input of a call: XLA's frame, whose one attribute is the text of a program. Output: null, or an error of XLA's. The
program is looked up by its text in a table of ours; Python is asked for one that is not there, once. Its arguments are
packed on the stack, tensors as DLPack describes them, and its packed entry checks their types, ranks and layouts.
"""

from __future__ import annotations

import ctypes
from typing import Any

from triptych.frameworks.xla_structs import (
    CONSTANT,
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
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number, Operand, named

HANDLER = "triptych_xla_call"
ADD_PROGRAM = "triptych_xla_add_program"
FIND_PROGRAM = "triptych_xla_find_program"
ERROR_TEXT = "triptych_xla_error_text"
"""Python functions: of the address and length of a program's text; of an exception, which gives bytes."""

_PYTHON = {
    "PyGILState_Ensure": ("i32", ""),
    "PyGILState_Release": ("void", "i32"),
    "PyGILState_GetThisThreadState": ("ptr", ""),
    "PyEval_SaveThread": ("ptr", ""),
    "PyObject_CallFunction": ("ptr", "ptr, ptr, ..."),
    "PyObject_CallOneArg": ("ptr", "ptr, ptr"),
    "PyErr_Fetch": ("void", "ptr, ptr, ptr"),
    "PyErr_NormalizeException": ("void", "ptr, ptr, ptr"),
    "PyErr_Clear": ("void", ""),
    "PyBytes_AsString": ("ptr", "ptr"),
    "Py_DecRef": ("void", "ptr"),
}
_FUNCTIONS = _PYTHON | {"memcmp": ("i32", "ptr, ptr, i64")}
PYTHON_FUNCTIONS = tuple(_PYTHON)
"""What the code imports of Python's own."""

_TYPES = 64
"""Element types of XLA have smaller numbers."""
_BUCKETS = 12
"""Bits of a bucket's number."""
_MIX = 0x9E3779B97F4A7C15 - (1 << 64)
"""An odd number without a pattern, which spreads texts over the buckets."""
_VALUE, _PAYLOAD = 16, 8
"""Bytes of a packed value, and where its payload begins."""

_TEXTS = {
    "no_text": "this is no call of a function of Triptych: it has not the one attribute that names a program",
    "miscounted": "the program takes another number of inputs and outputs than this call has",
    "unfound": "the program was found, and is not in the table",
    "unsaid": "the function failed, and did not say why",
    "numbers": "KK",
}

_GLOBALS = f"""
@{FIND_PROGRAM} = external global i8
@{ERROR_TEXT} = external global i8
@programs = internal global [{1 << _BUCKETS} x ptr] zeroinitializer
"""


def handler_code(minor: int) -> str:
    """The module's text. `minor` is the version of XLA's interface that the handler says it was made for."""
    texts = "".join(text_global(name, text) for name, text in _TEXTS.items())
    declared = [" ".join(("declare", kind, f"@{name}({given})")) for name, (kind, given) in _FUNCTIONS.items()]
    functions = (_bucket(), _find(), _add(), _refuse(), _raised(), _describe(), _run(), _call(minor))
    return "\n".join([*declared, _GLOBALS, texts, _elements(), *functions])


def _elements() -> str:
    """DLPack's code, bits and lanes of element types, by XLA's numbers; 0 for those that the language has not."""
    words = [0] * _TYPES
    for name, number in ELEMENT_NUMBERS.items():
        code, bits = ELEMENT_CODES[ELEMENT_TYPES[name]]
        words[number] = code | bits << 8 | 1 << 16
    return f"@elements = internal constant [{_TYPES} x i32] [{', '.join(f'i32 {word}' for word in words)}]\n"


# fields -------------------------------------------------------------------------------------------------------------
def _place(f: Function, base: Number, structure: type[ctypes.Structure], *path: str) -> Number:
    """The address of a field."""
    offset = 0
    kind: Any = structure
    for name in path:
        offset += getattr(kind, name).offset
        kind = dict(kind._fields_)[name]
    return f.at(base, offset, "i8")


def _get(f: Function, kind: str, base: Number, structure: type[ctypes.Structure], *path: str) -> Number:
    return f.load(kind, _place(f, base, structure, *path))


def _put(f: Function, value: Number, base: Number, structure: type[ctypes.Structure], *path: str) -> None:
    f.store(value, _place(f, base, structure, *path))


def _is_null(f: Function, pointer: Number) -> Number:
    return pointer.equals(named(f, "null"))


def _allocate(f: Function, size: Operand, kind: str) -> Number:
    """Memory on the stack for a number of elements, until the function returns."""
    count = f.number(size, "i64")
    return f.made(f"alloca {kind}, i64 {count.name}, align 8", "ptr")


def _ended(f: Function) -> str:
    """The whole function, which has returned before here."""
    f.line("unreachable")
    return f.text()


# the table of programs ----------------------------------------------------------------------------------------------
def _bucket() -> str:
    """`bucket(text)`: where the first program of those with such a text is."""
    f = Function("bucket", "ptr", [("text", "ptr")], "alwaysinline")
    (text,) = f.parameters
    first = f.made(f"load i64, ptr {text.name}, align 1", "i64")
    f.give(f.at(named(f, "@programs"), (first * _MIX) >> (64 - _BUCKETS), "ptr"), "ptr")
    return _ended(f)


def _find() -> str:
    """`find(text, size)`: the program, or null. Others may be added meanwhile."""
    f = Function("find", "ptr", [("text", "ptr"), ("size", "i64")], "alwaysinline")
    text, size = f.parameters
    with f.when(size < 8):
        f.give(named(f, "null"), "ptr")
    bucket = f.call("bucket", "ptr", [text])
    here = f.variable("ptr", f.made(f"load atomic ptr, ptr {bucket.name} acquire, align 8", "ptr"))
    with f.during(lambda: _is_null(f, here.now) ^ 1):
        program = here.now
        with f.when(_get(f, "i64", program, CallProgram, "size").equals(size)):
            own = _get(f, "ptr", program, CallProgram, "text")
            with f.when(f.call("memcmp", "i32", [own, text, size]).equals(0)):
                f.give(program, "ptr")
        here.set(_get(f, "ptr", program, CallProgram, "next"))
    f.give(named(f, "null"), "ptr")
    return _ended(f)


def _add() -> str:
    """Called by one thread at a time, while others look."""
    f = Function(ADD_PROGRAM, "void", [("program", "ptr")])
    (program,) = f.parameters
    bucket = f.call("bucket", "ptr", [_get(f, "ptr", program, CallProgram, "text")])
    _put(f, f.load("ptr", bucket), program, CallProgram, "next")
    f.line(f"store atomic ptr {program.name}, ptr {bucket.name} release, align 8")
    f.give()
    return _ended(f)


# errors -------------------------------------------------------------------------------------------------------------
def _refuse() -> str:
    """`refuse(frame, code, text)`: an error of XLA's, which copies the text."""
    f = Function("refuse", "ptr", [("frame", "ptr"), ("code", "i32"), ("text", "ptr")], "cold noinline")
    frame, code, text = f.parameters
    facts = _allocate(f, ctypes.sizeof(ErrorCreateArgs), "i8")
    size = ErrorCreateArgs.errc.offset + ErrorCreateArgs.errc.size
    _put(f, f.number(size, "i64"), facts, ErrorCreateArgs, "struct_size")
    _put(f, named(f, "null"), facts, ErrorCreateArgs, "extension_start")
    _put(f, text, facts, ErrorCreateArgs, "message")
    _put(f, code, facts, ErrorCreateArgs, "errc")
    create = _get(f, "ptr", _get(f, "ptr", frame, CallFrame, "api"), Api, "XLA_FFI_Error_Create")
    f.give(f.made(f"call ptr {create.name}(ptr {facts.name})", "ptr"), "ptr")
    return _ended(f)


def _raised() -> str:
    """`raised(frame, code)`: the exception of this thread as an error of XLA's; then it is set no more."""
    f = Function("raised", "ptr", [("frame", "ptr"), ("code", "i32")], "cold noinline")
    frame, code = f.parameters
    lock = f.call("PyGILState_Ensure", "i32", ())
    places = [f.variable("ptr", named(f, "null")).place for _ in range(3)]
    f.call("PyErr_Fetch", "void", places)
    f.call("PyErr_NormalizeException", "void", places)
    values = [f.load("ptr", place) for place in places]
    error = f.variable("ptr", named(f, "null"))
    with f.when(_is_null(f, values[1]) ^ 1):
        text = f.call("PyObject_CallOneArg", "ptr", [named(f, f"@{ERROR_TEXT}"), values[1]])
        with f.when(_is_null(f, text) ^ 1):
            error.set(f.call("refuse", "ptr", [frame, code, f.call("PyBytes_AsString", "ptr", [text])]))
            f.call("Py_DecRef", "void", [text])
    for value in values:  # which may be null
        f.call("Py_DecRef", "void", [value])
    with f.when(_is_null(f, error.now)):
        f.call("PyErr_Clear", "void", ())
        internal = f.number(CONSTANTS["XLA_FFI_Error_Code_INTERNAL"], "i32")
        error.set(f.call("refuse", "ptr", [frame, internal, named(f, "@unsaid")]))
    f.call("PyGILState_Release", "void", [lock])
    f.give(error.now, "ptr")
    return _ended(f)


# arguments ----------------------------------------------------------------------------------------------------------
def _describe() -> str:
    """`describe(tensor, buffer, item, steps)`: a buffer as a tensor of row-major order, its modes in an order that the
    item may give. `steps` has room for three numbers of each mode."""
    names = ("tensor", "buffer", "item", "steps")
    f = Function("describe", "void", [(name, "ptr") for name in names], "alwaysinline")
    tensor, buffer, item, steps = f.parameters
    rank, extents = _get(f, "i64", buffer, Buffer, "rank"), _get(f, "ptr", buffer, Buffer, "dims")
    dtype = _get(f, "i32", buffer, Buffer, "dtype")
    element = f.load("i32", f.at(named(f, "@elements"), f.select(dtype < _TYPES, dtype, 0, "i32"), "i32"))
    _put(f, _get(f, "ptr", buffer, Buffer, "data"), tensor, DLTensor, "data")
    _put(f, f.number(CPU, "i64"), tensor, DLTensor, "device")  # and the number of the device, 0
    _put(f, rank.to("i32"), tensor, DLTensor, "rank")
    _put(f, element, tensor, DLTensor, "code")
    _put(f, f.number(0, "i64"), tensor, DLTensor, "offset")
    _put(f, extents, tensor, DLTensor, "shape")
    _put(f, steps, tensor, DLTensor, "stride")
    size, left = f.variable("i64", 1), f.variable("i64", rank)
    with f.during(lambda: left.now.differs(0)):
        left.set(left.now - 1)
        f.store(size.now, f.at(steps, left.now, "i64"))
        size.set(size.now * f.load("i64", f.at(extents, left.now, "i64")))
    order = _get(f, "ptr", item, Item, "order")
    with f.when((_is_null(f, order) ^ 1) & _get(f, "i64", item, Item, "rank").equals(rank)):
        shape, strides = f.at(steps, rank, "i64"), f.at(steps, rank * 2, "i64")
        _put(f, shape, tensor, DLTensor, "shape")
        _put(f, strides, tensor, DLTensor, "stride")
        with f.count(0, rank) as mode:
            source = f.load("i64", f.at(order, mode, "i64"))
            for known, wanted in ((extents, shape), (steps, strides)):
                f.store(f.load("i64", f.at(known, source, "i64")), f.at(wanted, mode, "i64"))
    f.give()
    return _ended(f)


def _read_number(f: Function, buffer: Number, value: Number) -> Number:
    """Pack the only element of a buffer as a number; whether it could be."""
    data, dtype = _get(f, "ptr", buffer, Buffer, "data"), _get(f, "i32", buffer, Buffer, "dtype")
    packed = f.variable("i1", 0)

    def put(tag: int, content: Number) -> None:
        f.store(f.number(tag, "i64"), value)
        f.store(content, f.at(value, _PAYLOAD, "i8"))
        packed.set(1)

    for name, number in ELEMENT_NUMBERS.items():
        if name not in ("PRED", "F32", "F64") and name[0] not in "SU":
            continue
        with f.when(dtype.equals(number)):
            if name[0] == "F":
                kind = {"F32": "float", "F64": "double"}[name]
                found = f.load(kind, data)
                put(FLOAT_TAG, found if name == "F64" else f.made(f"fpext float {found.name} to double", "double"))
            elif name == "PRED":
                put(BOOL_TAG, f.load("i8", data).to("i64"))
            elif name == "U64":
                with f.when(f.load("i64", data) < 1 << 63):  # the packed value has a sign
                    put(INT_TAG, f.load("i64", data))
            else:
                found = f.load(f"i{name[1:]}", data)
                is_short = name[0] == "S" and name != "S64"
                put(INT_TAG, f.made(f"sext {found.kind} {found.name} to i64", "i64") if is_short else found.to("i64"))
    return packed.now


def _run() -> str:
    """`run(frame, program)`: packs every argument and calls the program; 0, or the status of a failure."""
    f = Function("run", "i32", [("frame", "ptr"), ("program", "ptr")])
    frame, program = f.parameters
    count, items = _get(f, "i64", program, CallProgram, "count"), _get(f, "ptr", program, CallProgram, "items")
    inputs, outputs = _get(f, "ptr", frame, CallFrame, "args", "args"), _get(f, "ptr", frame, CallFrame, "rets", "rets")
    result, values = _allocate(f, _VALUE, "i8"), _allocate(f, count * _VALUE, "i8")
    tensors = _allocate(f, count * ctypes.sizeof(DLTensor), "i8")
    with f.count(0, count) as i:
        item = f.at(items, i * ctypes.sizeof(Item), "i8")
        value, kind = f.at(values, i * _VALUE, "i8"), _get(f, "i64", item, Item, "kind")
        with f.when(kind.equals(CONSTANT)):
            f.store(_get(f, "i64", item, Item, "tag"), value)
            f.store(_get(f, "i64", item, Item, "payload"), f.at(value, _PAYLOAD, "i8"))
        with f.when(kind.differs(CONSTANT)):
            among = f.select(kind.equals(OUTPUT), outputs, inputs, "ptr")
            buffer = f.load("ptr", f.at(among, _get(f, "i64", item, Item, "index"), "ptr"))
            rank, is_packed = _get(f, "i64", buffer, Buffer, "rank"), f.variable("i1", 0)
            with f.when(kind.equals(NUMBER) & rank.equals(0)):
                is_packed.set(_read_number(f, buffer, value))
            with f.when(is_packed.now ^ 1):
                tensor = f.at(tensors, i * ctypes.sizeof(DLTensor), "i8")
                f.call("describe", "void", [tensor, buffer, item, _allocate(f, rank * 3, "i64")])
                f.store(f.number(VIEW_TAG, "i64"), value)
                f.store(tensor, f.at(value, _PAYLOAD, "i8"))
    entry = _get(f, "ptr", program, CallProgram, "entry")
    given = f"ptr null, ptr {values.name}, i32 {count.to('i32').name}, ptr {result.name}"
    f.give(f.made(f"call i32 {entry.name}({given})", "i32"), "i32")
    return _ended(f)


# the handler --------------------------------------------------------------------------------------------------------
def _call(minor: int) -> str:
    """What XLA calls: it asks for the version, in stages before the call, and for the call."""
    f = Function(HANDLER, "ptr", [("frame", "ptr")])
    (frame,) = f.parameters
    extension = _get(f, "ptr", frame, CallFrame, "extension_start")
    with f.when(_is_null(f, extension) ^ 1):
        asked = _get(f, "i32", extension, MetadataExtension, "extension_base", "type")
        with f.when(asked.equals(CONSTANTS["XLA_FFI_Extension_Metadata"])):
            facts = _get(f, "ptr", extension, MetadataExtension, "metadata")
            major = f.number(CONSTANTS["XLA_FFI_API_MAJOR"], "i32")
            _put(f, major, facts, Metadata, "api_version", "major_version")
            _put(f, f.number(minor, "i32"), facts, Metadata, "api_version", "minor_version")
            _put(f, f.number(0, "i32"), facts, Metadata, "traits")
            f.give(named(f, "null"), "ptr")
    stage = _get(f, "i32", frame, CallFrame, "stage")
    with f.when(stage.differs(CONSTANTS["XLA_FFI_ExecutionStage_EXECUTE"])):
        f.give(named(f, "null"), "ptr")
    with f.when(_get(f, "i64", frame, CallFrame, "attrs", "size").differs(1)):
        _give_error(f, frame, "no_text")
    kind = f.load("i32", _get(f, "ptr", frame, CallFrame, "attrs", "types"))
    with f.when(kind.differs(CONSTANTS["XLA_FFI_AttrType_STRING"])):
        _give_error(f, frame, "no_text")
    span = f.load("ptr", _get(f, "ptr", frame, CallFrame, "attrs", "attrs"))
    _attach_thread(f)
    program = _looked_up(f, frame, _get(f, "ptr", span, ByteSpan, "ptr"), _get(f, "i64", span, ByteSpan, "len"))
    for given, wanted in (("args", "inputs"), ("rets", "outputs")):
        counted = _get(f, "i64", frame, CallFrame, given, "size")
        with f.when(counted.differs(_get(f, "i64", program, CallProgram, wanted))):
            _give_error(f, frame, "miscounted")
    with f.when(f.call("run", "i32", [frame, program]).differs(0)):
        code = f.number(CONSTANTS["XLA_FFI_Error_Code_INVALID_ARGUMENT"], "i32")
        f.give(f.call("raised", "ptr", [frame, code]), "ptr")
    f.give(named(f, "null"), "ptr")
    return _ended(f)


def _give_error(f: Function, frame: Number, text: str) -> None:
    code = f.number(CONSTANTS["XLA_FFI_Error_Code_INVALID_ARGUMENT"], "i32")
    f.give(f.call("refuse", "ptr", [frame, code, named(f, f"@{text}")]), "ptr")


def _attach_thread(f: Function) -> None:
    """Exceptions are in a thread's state of Python's: a thread of XLA's gets one with its first call, for good."""
    with f.when(_is_null(f, f.call("PyGILState_GetThisThreadState", "ptr", ()))):
        f.call("PyGILState_Ensure", "i32", ())
        f.call("PyEval_SaveThread", "ptr", ())


def _looked_up(f: Function, frame: Number, text: Number, size: Number) -> Number:
    """The program of a text, for which Python is asked where the table has it not."""
    program = f.variable("ptr", f.call("find", "ptr", [text, size]))
    with f.when(_is_null(f, program.now)):
        lock = f.call("PyGILState_Ensure", "i32", ())
        numbers = f"i64 {text.to('i64').name}, i64 {size.name}"
        asked = f"call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr @{FIND_PROGRAM}, ptr @numbers, {numbers})"
        answer = f.made(asked, "ptr")
        f.call("Py_DecRef", "void", [answer])  # which may be null
        f.call("PyGILState_Release", "void", [lock])
        with f.when(_is_null(f, answer)):
            code = f.number(CONSTANTS["XLA_FFI_Error_Code_NOT_FOUND"], "i32")
            f.give(f.call("raised", "ptr", [frame, code]), "ptr")
        program.set(f.call("find", "ptr", [text, size]))
        with f.when(_is_null(f, program.now)):
            _give_error(f, frame, "unfound")
    return program.now
