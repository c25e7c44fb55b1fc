"""LLVM IR of the functions that an exported object gives to C: load, unload, call, settings, the text of an error.

A call makes DLPack descriptions of the structures that it is given, so that the same entry checks them that Python
calls. It is a module of its own beside the program (`native_code` is the third).
"""

from __future__ import annotations

from triptych.interop.dlpack import CPU, ELEMENT_CODES
from triptych.targets.cpu.abi.abi import BIG_INT_TAG, BOOL_TAG, FLOAT_TAG, INT_TAG, VIEW_TAG
from triptych.targets.cpu.calling.scalars import SCALARS
from triptych.targets.cpu.export.c_interface import (
    ABI_MISMATCH,
    ABI_VERSION,
    BAD_ARGUMENT,
    FAILED,
    NOT_LOADED,
    OK,
    UNCHECKED,
    CFunction,
    CParameter,
    share_symbol,
)
from triptych.targets.cpu.export.device_code import ENCODE, HANDLE, KERNELS, LAUNCH, LOAD, RECORD, UNLOAD, VERSION
from triptych.targets.cpu.export.llvm_lines import LlvmLines
from triptych.targets.cpu.runtime.pool_fault_code import text_global

ENTRY = "triptych.entry"
"""The packed entry of the program, as its other modules call it."""
BODY = "triptych.body"
NO_KEYS = "the process has no keys of threads left (PTHREAD_KEYS_MAX)"
VALUE, _DESCRIPTION = 16, 48
"""Bytes of a packed value and of a DLPack description."""
NOT_LAUNCHED = "a kernel could not be launched (CUDA error %d)"
_FLOATS = {"Float16": "half", "BFloat16": "bfloat", "Float32": "float"}


def exported_names(prefix: str) -> tuple[str, ...]:
    """What others see of the object."""
    ours = ("abi_version", "error_text", "set_threads", "set_parallel_for")
    inner = ("load", "unload", "call", "metadata", "share")
    return ("triptych_abi_version", *(f"{prefix}_{n}" for n in ours), *(f"{prefix}_triptych_{n}" for n in inner))


def c_entry(function: CFunction, body_types: tuple[str, ...], kernels: tuple[str, ...] = ()) -> str:
    """The module's text. The types are those of the function's body, which an unchecked call calls directly.

    Where it launches kernels of a device, it takes a launch record more than the user gives.
    """
    prefix = function.prefix
    texts = {
        "wrong_abi": f"{prefix}: the object has version {ABI_VERSION} of the interface, its caller another one",
        "wrong_interface": f"{prefix}: header and object file are not of the same export",
        "not_loaded": f"{prefix}: the module is not loaded: call {prefix}_Kernel_Module_Load first",
        "no_keys": f"{prefix}: {NO_KEYS}",
        "null_argument": f"{prefix}: an argument is a null pointer where a structure is needed",
        "not_launched": f"{prefix}: {NOT_LAUNCHED}",
        f"{prefix}_triptych_metadata": function.metadata,
    }
    constants = "".join(text_global(name, text) for name, text in texts.items())
    visible = constants.replace("metadata = internal constant", "metadata = constant")
    return f"""
{visible}
declare i32 @{ENTRY}(ptr, ptr, i32, ptr)
declare i32 @{BODY}({", ".join(body_types)})
declare void @triptych_prepare()
declare i1 @triptych_native_load()
declare void @triptych_native_unload()
declare void @triptych_native_set_threads(i32)
declare void @triptych_native_set_pool(ptr, ptr)
declare ptr @triptych_native_error_text()
declare i32 @triptych_native_error_code()
declare i32 @triptych_native_fail(i32, ptr)
declare i32 @triptych_native_fail_with(i32, ptr, i32)
declare i32 @{LOAD}(ptr)
declare void @{UNLOAD}(ptr)

{share_function(prefix)}
{_settings(prefix)}
{_module_functions(prefix, _signed(function.interface), on_device=bool(kernels))}
{_call(function, body_types, on_device=bool(kernels))}
"""


def share_function(name: str) -> str:
    """Gives an object keys of threads that it has in common with others, before it is loaded."""
    return f"""
declare void @triptych_native_share_keys(ptr)
define void @{share_symbol(name)}(ptr %keys) {{
  call void @triptych_native_share_keys(ptr %keys)
  ret void
}}
"""


def _settings(prefix: str) -> str:
    return f"""
define weak_odr i32 @triptych_abi_version() {{
  ret i32 {ABI_VERSION}
}}
define i32 @{prefix}_abi_version() {{
  ret i32 {ABI_VERSION}
}}
define ptr @{prefix}_error_text() {{
  %text = call ptr @triptych_native_error_text()
  ret ptr %text
}}
define void @{prefix}_set_threads(i32 %threads) {{
  call void @triptych_native_set_threads(i32 %threads)
  ret void
}}
define void @{prefix}_set_parallel_for(ptr %run, ptr %context) {{
  call void @triptych_native_set_pool(ptr %run, ptr %context)
  ret void
}}
"""


def _module_functions(prefix: str, interface: int, *, on_device: bool) -> str:
    load = f"%status = call i32 @{LOAD}(ptr %module)" if on_device else "%status = add i32 0, 0"
    unload = f"call void @{UNLOAD}(ptr %module)" if on_device else ""
    return f"""
define i32 @{prefix}_triptych_load(ptr %module, i32 %abi, i64 %interface) {{
entry:
  %is_there = icmp ne ptr %module, null
  br i1 %is_there, label %begin, label %nowhere
begin:
  store i64 0, ptr %module
  %is_known = icmp eq i32 %abi, {ABI_VERSION}
  br i1 %is_known, label %known, label %foreign
known:
  %is_same = icmp eq i64 %interface, {interface}
  br i1 %is_same, label %load, label %other
load:
  {load}
  %there = icmp eq i32 %status, 0
  br i1 %there, label %done, label %absent
absent:
  ret i32 %status
done:
  %has_keys = call i1 @triptych_native_load()
  br i1 %has_keys, label %keep, label %keyless
keep:
  store i64 {interface}, ptr %module
  ret i32 {OK}
foreign:
  %wrong_abi = call i32 @triptych_native_fail(i32 {ABI_MISMATCH}, ptr @wrong_abi)
  ret i32 %wrong_abi
other:
  %wrong_interface = call i32 @triptych_native_fail(i32 {ABI_MISMATCH}, ptr @wrong_interface)
  ret i32 %wrong_interface
keyless:
  {unload}
  %no_keys = call i32 @triptych_native_fail(i32 {FAILED}, ptr @no_keys)
  ret i32 %no_keys
nowhere:
  %no_module = call i32 @triptych_native_fail(i32 {BAD_ARGUMENT}, ptr @null_argument)
  ret i32 %no_module
}}
define i32 @{prefix}_triptych_unload(ptr %module) {{
entry:
  %is_there = icmp ne ptr %module, null
  br i1 %is_there, label %look, label %never
look:
  %interface = load i64, ptr %module
  %loaded = icmp eq i64 %interface, {interface}
  br i1 %loaded, label %unload, label %never
unload:
  store i64 0, ptr %module
  {unload}
  call void @triptych_native_unload()
  ret i32 {OK}
never:
  %code = call i32 @triptych_native_fail(i32 {NOT_LOADED}, ptr @not_loaded)
  ret i32 %code
}}
"""


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _call(function: CFunction, body_types: tuple[str, ...], *, on_device: bool) -> str:
    lines = LlvmLines()
    given_count = len(function.parameters)
    count = given_count + on_device
    lines.go_on_if(lines.set("icmp ne ptr %module, null"), "never")
    interface = lines.field("%module", 0, "i64")
    lines.go_on_if(lines.set(f"icmp eq i64 {interface}, {_signed(function.interface)}"), "never")
    lines.add("call void @triptych_prepare()")
    packed = lines.room(VALUE * max(count, 1))
    result = lines.room(VALUE)
    received: list[str] = []
    for i, parameter in enumerate(function.parameters):
        given = lines.field("%arguments", 8 * i, "ptr")
        value = lines.place(packed, VALUE * i)
        if parameter.memory is not None:
            received += _pack_tensor(lines, parameter, given, value)
        else:
            received.append(_pack_number(lines, parameter, given, value))
    record = ""
    if on_device:  # launches that name no stream go to the default one
        handle = lines.field("%module", HANDLE, "ptr")
        record = pack_record(lines, handle, "null", lines.place(packed, VALUE * given_count))
    if function.result is None and not on_device:
        _call_unchecked(lines, received, body_types)
    status = lines.set(f"call i32 @{ENTRY}(ptr null, ptr {packed}, i32 {count}, ptr {result})")
    lines.go_on_if(lines.set(f"icmp eq i32 {status}, 0"), "failed")
    if on_device:
        check_launches(lines, record)
    if function.result is not None:
        _unpack(lines, function.result.dtype, result, lines.field("%arguments", 8 * given_count, "ptr"))
    return f"""
define i32 @{function.prefix}_triptych_call(ptr %module, ptr %arguments, i32 %flags) {{
{lines.text}
  ret i32 {OK}
never:
  %not_loaded = call i32 @triptych_native_fail(i32 {NOT_LOADED}, ptr @not_loaded)
  ret i32 %not_loaded
missing:
  %missing_code = call i32 @triptych_native_fail(i32 {BAD_ARGUMENT}, ptr @null_argument)
  ret i32 %missing_code
failed:
  %code = call i32 @triptych_native_error_code()
  ret i32 %code
}}
"""


def pack_record(lines: LlvmLines, handle: str, stream: str, value: str) -> str:
    """A `LaunchRecord` of this call as a packed value; launches that name no stream go to the given one."""
    record = lines.room(RECORD)
    lines.put(f"ptr {lines.field(handle, LAUNCH, 'ptr')}", record, 0)
    lines.put(f"ptr {stream}", record, 8)
    lines.put(f"ptr {lines.place(handle, KERNELS)}", record, 16)
    lines.put("i64 0", record, 24)
    lines.put(f"ptr {lines.field(handle, ENCODE, 'ptr')}", record, 32)
    lines.put(f"i64 {lines.field(handle, VERSION, 'i64')}", record, 40)
    _put(lines, value, f"i32 {INT_TAG}", f"ptr {record}")
    return record


def check_launches(lines: LlvmLines, record: str) -> None:
    """The first launch that failed has written the driver's number."""
    status = lines.field(record, 24, "i32")
    refused, following = lines.label("refused"), lines.label("launched")
    lines.add(f"br i1 {lines.set(f'icmp eq i32 {status}, 0')}, label %{following}, label %{refused}")
    lines.begin(refused)
    lines.add(f"call i32 @triptych_native_fail_with(i32 {FAILED}, ptr @not_launched, i32 {status})")
    lines.add("br label %failed")
    lines.begin(following)


def _pack_tensor(lines: LlvmLines, parameter: CParameter, given: str, value: str) -> list[str]:
    """A description on the stack. Gives what the body receives: the address, and each unknown."""
    memory = parameter.memory
    assert memory is not None, "the parameter is a tensor"
    rank = len(memory.shape)
    lines.go_on_if(lines.set(f"icmp ne ptr {given}, null"), "missing")
    data = lines.field(given, 0, "ptr")
    start = 8 + 4 * len(parameter.shapes)
    start += start % 8
    shape = [text if i not in parameter.shapes else "" for i, text in enumerate(memory.shape)]
    stride = [text if i not in parameter.strides else "" for i, text in enumerate(memory.stride)]
    for k, i in enumerate(parameter.shapes):
        shape[i] = lines.set(f"sext i32 {lines.field(given, 8 + 4 * k, 'i32')} to i64")
    for k, i in enumerate(parameter.strides):
        stride[i] = lines.field(given, start + 8 * k, "i64")
    integers = lines.room(16 * max(rank, 1))
    for k, number in enumerate([*shape, *stride]):
        lines.put(f"i64 {number}", integers, 8 * k)
    described = lines.room(_DESCRIPTION)
    code, bits = ELEMENT_CODES[parameter.leaf.dtype]
    fields = [f"ptr {data}", f"i32 {memory.devices[0] if memory.devices else CPU}", "i32 0", f"i32 {rank}"]
    fields += [f"i32 {code | bits << 8 | 1 << 16}", f"ptr {integers}", f"ptr {lines.place(integers, 8 * rank)}"]
    for field, offset in zip([*fields, "i64 0"], (0, 8, 12, 16, 20, 24, 32, 40), strict=True):
        lines.put(field, described, offset)
    lines.put(f"i32 {VIEW_TAG}", value, 0)
    lines.put(f"ptr {described}", value, 8)
    texts = [*memory.shape, *memory.stride]
    numbers = [*shape, *stride]
    return [f"ptr {data}", *(f"i64 {numbers[texts.index(unknown.name)]}" for unknown in memory.unknowns)]


def _pack_number(lines: LlvmLines, parameter: CParameter, given: str, value: str) -> str:
    """A packed number; gives it in the type that the body has."""
    if parameter.is_address:
        number = lines.field(given, 0, "i64")
        _put(lines, value, f"i32 {INT_TAG}", f"i64 {number}")
        return f"i64 {number}"
    scalar = parameter.scalar
    if scalar.kind == "float":
        kind = _FLOATS.get(scalar.name, "double")
        number = lines.field(given, 0, kind)
        wide = number if kind == "double" else lines.set(f"fpext {kind} {number} to double")
        _put(lines, value, f"i32 {FLOAT_TAG}", f"double {wide}")
        return f"{kind} {number}"
    stored = f"i{max(scalar.width, 8)}"
    number = lines.field(given, 0, stored)
    if scalar.kind == "boolean":
        truth = lines.set(f"icmp ne i8 {number}, 0")
        _put(lines, value, f"i32 {BOOL_TAG}", f"i64 {lines.set(f'zext i1 {truth} to i64')}")
        return f"i1 {truth}"
    extension = "sext" if scalar.kind == "signed" else "zext"
    wide = number if stored == "i64" else lines.set(f"{extension} {stored} {number} to i64")
    if scalar.exceeds_63_bits:
        words = lines.room(16)
        lines.put(f"i64 {wide}", words, 0)
        lines.put("i64 0", words, 8)
        large = lines.set(f"icmp slt i64 {wide}, 0")
        address = lines.set(f"ptrtoint ptr {words} to i64")
        tag = lines.set(f"select i1 {large}, i32 {BIG_INT_TAG}, i32 {INT_TAG}")
        payload = lines.set(f"select i1 {large}, i64 {address}, i64 {wide}")
        _put(lines, value, f"i32 {tag}", f"i64 {payload}")
        return f"i64 {wide}"
    _put(lines, value, f"i32 {INT_TAG}", f"i64 {wide}")
    if scalar.width < 8:
        return f"i{scalar.width} {lines.set(f'trunc {stored} {number} to i{scalar.width}')}"
    return f"{stored} {number}"


def _put(lines: LlvmLines, value: str, tag: str, payload: str) -> None:
    lines.put(tag, value, 0)
    lines.put(payload, value, 8)


def _call_unchecked(lines: LlvmLines, received: list[str], body_types: tuple[str, ...]) -> None:
    flag = lines.set(f"and i32 %flags, {UNCHECKED}")
    unchecked, checked = lines.label("unchecked"), lines.label("checked")
    lines.add(f"br i1 {lines.set(f'icmp ne i32 {flag}, 0')}, label %{unchecked}, label %{checked}")
    lines.begin(unchecked)
    passed = [_passed(lines, value, kind) for value, kind in zip(received, body_types, strict=True)]
    status = lines.set(f"call i32 @{BODY}({', '.join(passed)})")
    done = lines.set(f"icmp eq i32 {status}, 0")
    finished = lines.label("finished")
    lines.add(f"br i1 {done}, label %{finished}, label %failed")
    lines.begin(finished)
    lines.leave(f"i32 {OK}")
    lines.begin(checked)


def _passed(lines: LlvmLines, value: str, kind: str) -> str:
    """What was read as 64 bits, or as a pointer of the generic space, in the type of the body."""
    found = value.partition(" ")[0]
    if found == kind:
        return value
    cast = "addrspacecast" if found == "ptr" else "trunc"
    return f"{kind} {lines.set(f'{cast} {value} to {kind}')}"


def _unpack(lines: LlvmLines, dtype: str, result: str, place: str) -> None:
    """A packed result to where the caller wants it."""
    scalar = SCALARS[dtype]
    if scalar.kind == "float":
        kind = _FLOATS.get(dtype, "double")
        number = lines.field(result, 8, "double")
        narrow = number if kind == "double" else lines.set(f"fptrunc double {number} to {kind}")
        lines.put(f"{kind} {narrow}", place, 0)
        return
    bits = max(scalar.width, 8)
    number = lines.field(result, 8, "i64")
    narrow = number if bits == 64 else lines.set(f"trunc i64 {number} to i{bits}")
    lines.put(f"i{bits} {narrow}", place, 0)
