"""LLVM IR of the entry that an exported object gives to TVM FFI: `__tvm_ffi_<name>`, by the convention of that library.

It calls the packed entry of the program, which has the same parameters, and tells the library what went wrong. The
library is not in objects for C: what the entry asks it about large integers is answered by `LARGE_INTEGERS` there.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.interop.dlpack import GPU
from triptych.objectstage.exports import Export
from triptych.stages import Leaf
from triptych.targets.cpu.abi.abi import INT_TAG, TENSOR_HEADER, TENSOR_TAG, VIEW_TAG, entry_symbol
from triptych.targets.cpu.export.c_entry import (
    ENTRY,
    NO_KEYS,
    NOT_LAUNCHED,
    VALUE,
    check_launches,
    pack_record,
    share_function,
)
from triptych.targets.cpu.export.c_interface import BAD_ARGUMENT, pattern_symbol
from triptych.targets.cpu.export.device_code import HANDLE, LOAD, UNLOAD
from triptych.targets.cpu.export.llvm_lines import LlvmLines
from triptych.targets.cpu.runtime.pool_fault_code import text_global


def tvm_ffi_entry(wanted: Export, leaves: Sequence[Leaf]) -> str:
    """The module's text. Where the program launches kernels of a device, its last parameter is a launch record, which
    the entry adds to what it is given."""
    name, on_device = wanted.name, wanted.device is not None
    given = len(leaves) - on_device
    pattern = text_global(pattern_symbol(name), wanted.pattern).replace("internal ", "", 1)
    texts = {
        "no_keys": NO_KEYS,
        "argument_kind": "ValueError",
        "failure_kind": "RuntimeError",
        "not_launched": f"{name}: {NOT_LAUNCHED}",
        "miscounted": f"{name} takes {given} argument{'' if given == 1 else 's'}, not %d",
    }
    lines = LlvmLines()
    lines.go_on_if(lines.set("call i1 @triptych_native_is_ready()"), "keyless")
    if on_device:
        _call_with_record(lines, leaves[:given])
    else:
        _call(lines, "%arguments", "%count")
    return f"""
{pattern}{share_function(name)}{"".join(text_global(label, text) for label, text in texts.items())}
declare i32 @{ENTRY}(ptr, ptr, i32, ptr)
declare i1 @triptych_native_is_ready()
declare ptr @triptych_native_error_text()
declare i32 @triptych_native_error_code()
declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
{_DEVICE if on_device else ""}
define i32 @{entry_symbol(name)}(ptr %self, ptr %arguments, i32 %count, ptr %result) {{
{lines.text}
  ret i32 0
keyless:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @failure_kind, ptr @no_keys)
  ret i32 -1
failed:
  %code = call i32 @triptych_native_error_code()
  %refused = icmp eq i32 %code, {BAD_ARGUMENT}
  %kind = select i1 %refused, ptr @argument_kind, ptr @failure_kind
  %text = call ptr @triptych_native_error_text()
  call void @TVMFFIErrorSetRaisedFromCStr(ptr %kind, ptr %text)
  ret i32 -1
}}
"""


def _call(lines: LlvmLines, arguments: str, count: str) -> None:
    status = lines.set(f"call i32 @{ENTRY}(ptr null, ptr {arguments}, i32 {count}, ptr %result)")
    lines.go_on_if(lines.set(f"icmp eq i32 {status}, 0"), "failed")


def _call_with_record(lines: LlvmLines, leaves: Sequence[Leaf]) -> None:
    """Launches that name no stream go to the one that the framework has set for the GPU of the first tensor."""
    counted, miscounted = lines.label("counted"), lines.label("miscounted")
    lines.add(f"br i1 {lines.set(f'icmp eq i32 %count, {len(leaves)}')}, label %{counted}, label %{miscounted}")
    lines.begin(miscounted)
    lines.add(f"call i32 @triptych_native_fail_with(i32 {BAD_ARGUMENT}, ptr @miscounted, i32 %count)")
    lines.add("br label %failed")
    lines.begin(counted)
    handle = lines.set("call ptr @triptych_device_handle()")
    lines.go_on_if(lines.set(f"icmp ne ptr {handle}, null"), "failed")
    packed = lines.room(VALUE * (len(leaves) + 1))
    lines.add(f"call void @llvm.memcpy.p0.p0.i64(ptr {packed}, ptr %arguments, i64 {VALUE * len(leaves)}, i1 false)")
    tensors = [i for i, leaf in enumerate(leaves) if leaf.memory is not None]
    device = _device_number(lines, lines.place(packed, VALUE * tensors[0])) if tensors else "0"
    stream = lines.set(f"call ptr @TVMFFIEnvGetStream(i32 {GPU}, i32 {device})")
    record = pack_record(lines, handle, stream, lines.place(packed, VALUE * len(leaves)))
    _call(lines, packed, str(len(leaves) + 1))
    check_launches(lines, record)


def _device_number(lines: LlvmLines, value: str) -> str:
    """Of the GPU that a tensor is on, from its description; 0 of what is no tensor, which the program refuses."""
    tag, payload = lines.field(value, 0, "i32"), lines.field(value, 8, "ptr")
    is_view, is_object = (lines.set(f"icmp eq i32 {tag}, {number}") for number in (VIEW_TAG, TENSOR_TAG))
    behind = lines.set(f"select i1 {is_object}, i64 {TENSOR_HEADER + _NUMBER}, i64 {_NUMBER}")
    number = lines.set(f"getelementptr i8, ptr {payload}, i64 {behind}")
    is_tensor = lines.set(f"or i1 {is_view}, {is_object}")
    return lines.set(f"load i32, ptr {lines.set(f'select i1 {is_tensor}, ptr {number}, ptr @triptych.no_number')}")


_NUMBER = 12
"""Where a DLPack description has the number of the device."""

_DEVICE = f"""
@triptych.loaded = internal global ptr null
@triptych.no_number = internal constant i32 0
declare i32 @triptych_native_fail_with(i32, ptr, i32)
declare ptr @TVMFFIEnvGetStream(i32, i32)
declare i32 @{LOAD}(ptr)
declare void @{UNLOAD}(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @triptych_device_handle() {{
entry:
  %module = alloca [{HANDLE + 8} x i8], align 8
  %known = load atomic ptr, ptr @triptych.loaded acquire, align 8
  %is_known = icmp ne ptr %known, null
  br i1 %is_known, label %there, label %load
there:
  ret ptr %known
load:
  %status = call i32 @{LOAD}(ptr %module)
  %is_loaded = icmp eq i32 %status, 0
  br i1 %is_loaded, label %keep, label %absent
absent:
  ret ptr null
keep:
  %place = getelementptr i8, ptr %module, i64 {HANDLE}
  %made = load ptr, ptr %place
  %kept = cmpxchg ptr @triptych.loaded, ptr null, ptr %made acq_rel acquire
  %is_ours = extractvalue {{ ptr, i1 }} %kept, 1
  br i1 %is_ours, label %first, label %second
first:
  ret ptr %made
second:
  call void @{UNLOAD}(ptr %module)
  %other = extractvalue {{ ptr, i1 }} %kept, 0
  ret ptr %other
}}
"""
"""The kernels, loaded by the first call; of threads that call at once, one keeps what it has loaded."""


LARGE_INTEGERS = f"""
define {{ ptr, i64 }} @TVMFFIBigIntGetContentByteArray(ptr %packed) {{
  %place = getelementptr i8, ptr %packed, i64 8
  %words = load ptr, ptr %place
  %part = insertvalue {{ ptr, i64 }} poison, ptr %words, 0
  %whole = insertvalue {{ ptr, i64 }} %part, i64 16, 1
  ret {{ ptr, i64 }} %whole
}}
define i32 @TVMFFIBigIntFromByteArray(ptr %bytes, ptr %result) {{
  %words = load ptr, ptr %bytes
  %word = load i64, ptr %words
  %place = getelementptr i8, ptr %result, i64 8
  store i32 {INT_TAG}, ptr %result
  store i64 %word, ptr %place
  ret i32 0
}}
"""
"""Numbers from 2^63 on, as `c_entry` passes and takes them."""
