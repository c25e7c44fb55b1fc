"""LLVM IR of errors in exported objects: a code and a text for each thread, instead of an exception of Python.

Part of `native_code`. The functions have the names that compiled code calls in a Python process, too.
"""

from __future__ import annotations

from triptych.targets.cpu.abi.abi import FAIL, REFUSE, REFUSE_COUNT, REFUSE_TENSORS
from triptych.targets.cpu.calling.calling_python import RAISE
from triptych.targets.cpu.export.codes import BAD_ARGUMENT, FAILED

EXPLAIN = "triptych.explain"
"""Of the exported program: the packed values of a call, and room for a text that says which tensor does not fit."""
TEXT_SIZE = 1024


def text_global(name: str, text: str) -> str:
    """A constant that ends with a zero."""
    data = text.encode() + b"\0"
    escaped = "".join(f"\\{byte:02X}" for byte in data)
    return f'@{name} = internal constant [{len(data)} x i8] c"{escaped}"\n'


_TEXTS = "".join(
    text_global(name, text)
    for name, text in {
        "refused_text": "argument '%s' must be a number that fits in %s",
        "count_text": "%s takes %lld arguments but %lld were given",
        "failed_text": "%s: %s",
        "placed_text": "%s: %s (block (%d, %d, %d), thread (%d, %d, %d))",
    }.items()
)

ERROR_CODE = f"""
{_TEXTS}
%error = type {{ i32, [{TEXT_SIZE} x i8] }}
@error_key = internal global %thread_key 0         ; under which each thread keeps its last error
@spare_error = internal global %error zeroinitializer
@{REFUSE} = constant i8 0
@{REFUSE_COUNT} = constant i8 1
@{REFUSE_TENSORS} = constant i8 2
@{FAIL} = constant i8 3
declare i32 @snprintf(ptr, i64, ptr, ...)
declare void @{EXPLAIN}(ptr, ptr, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; The record of this thread; without memory, and while nothing is loaded, one that all share.
define internal ptr @error_record() {{
entry:
  %ready = load atomic i32, ptr @ready acquire, align 4
  %loaded = icmp ne i32 %ready, 0
  br i1 %loaded, label %look, label %spare
spare:
  ret ptr @spare_error
look:
  %key = load %thread_key, ptr @error_key
  %known = call ptr @pthread_getspecific(%thread_key %key)
  %missing = icmp eq ptr %known, null
  br i1 %missing, label %make, label %leave
make:
  %size = ptrtoint ptr getelementptr (%error, ptr null, i64 1) to i64
  %made = call ptr @calloc(i64 1, i64 %size)
  %kept = call i32 @pthread_setspecific(%thread_key %key, ptr %made)
  %none = icmp eq ptr %made, null
  %found = select i1 %none, ptr @spare_error, ptr %made
  br label %leave
leave:
  %record = phi ptr [ %known, %look ], [ %found, %make ]
  ret ptr %record
}}

define ptr @triptych_native_error_text() {{
  %record = call ptr @error_record()
  %text = getelementptr %error, ptr %record, i64 0, i32 1
  ret ptr %text
}}

; Keeps a code and a text, and gives the code.
define i32 @triptych_native_fail(i32 %code, ptr %text) cold noinline {{
  %record = call ptr @error_record()
  store i32 %code, ptr %record
  %place = getelementptr %error, ptr %record, i64 0, i32 1
  %length = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %place, i64 {TEXT_SIZE}, ptr @plain_text, ptr %text)
  ret i32 %code
}}

; The same with a text that has a place for a number.
define i32 @triptych_native_fail_with(i32 %code, ptr %text, i32 %number) cold noinline {{
  %record = call ptr @error_record()
  store i32 %code, ptr %record
  %place = getelementptr %error, ptr %record, i64 0, i32 1
  %length = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %place, i64 {TEXT_SIZE}, ptr %text, i32 %number)
  ret i32 %code
}}

define i32 @triptych_native_error_code() cold noinline {{
  %record = call ptr @error_record()
  %code = load i32, ptr %record
  ret i32 %code
}}

; What compiled code calls where it would raise: what happened, and up to three facts.
define void @{RAISE}(ptr %what, ptr %format, i64 %first, i64 %second, i64 %third) cold noinline {{
entry:
  %record = call ptr @error_record()
  %text = getelementptr %error, ptr %record, i64 0, i32 1
  store i32 {BAD_ARGUMENT}, ptr %record
  %kind = load i8, ptr %what
  switch i8 %kind, label %failed [ i8 0, label %refused
                                   i8 1, label %miscounted
                                   i8 2, label %unfit ]
refused:
  %0 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %text, i64 {TEXT_SIZE}, ptr @refused_text, i64 %third, i64 %second)
  ret void
miscounted:
  %1 = call i32 (ptr, i64, ptr, ...) @snprintf(
    ptr %text, i64 {TEXT_SIZE}, ptr @count_text, i64 %third, i64 %second, i64 %first)
  ret void
unfit:
  %packed = inttoptr i64 %first to ptr
  call void @{EXPLAIN}(ptr %packed, ptr %text, i64 {TEXT_SIZE})
  ret void
failed:
  store i32 {FAILED}, ptr %record
  %2 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %text, i64 {TEXT_SIZE}, ptr @failed_text, i64 %first, i64 %second)
  ret void
}}

; The first fault of a launch, as the error of the thread that launched.
define internal void @raise_cause(ptr %launch) cold noinline {{
entry:
  %record = call ptr @error_record()
  store i32 {FAILED}, ptr %record
  %text = getelementptr %error, ptr %record, i64 0, i32 1
  %name_place = getelementptr %launch, ptr %launch, i64 0, i32 6
  %name = load ptr, ptr %name_place
  %facts_place = getelementptr %launch, ptr %launch, i64 0, i32 7
  %facts = load ptr, ptr %facts_place
  %where = getelementptr %launch, ptr %launch, i64 0, i32 8
  %x = load i32, ptr %where
  %y_place = getelementptr i32, ptr %where, i64 1
  %y = load i32, ptr %y_place
  %z_place = getelementptr i32, ptr %where, i64 2
  %z = load i32, ptr %z_place
  %thread_place = getelementptr i32, ptr %where, i64 3
  %thread = load i32, ptr %thread_place
  %nowhere = icmp slt i32 %thread, 0
  br i1 %nowhere, label %plain, label %placed
plain:
  %0 = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %text, i64 {TEXT_SIZE}, ptr @failed_text, ptr %name, ptr %facts)
  ret void
placed:
  %width_place = getelementptr %launch, ptr %launch, i64 0, i32 9
  %width = load i32, ptr %width_place
  %height_place = getelementptr %launch, ptr %launch, i64 0, i32 10
  %height = load i32, ptr %height_place
  %column = urem i32 %thread, %width
  %rows = udiv i32 %thread, %width
  %row = urem i32 %rows, %height
  %plane = udiv i32 %rows, %height
  %1 = call i32 (ptr, i64, ptr, ...) @snprintf(
    ptr %text, i64 {TEXT_SIZE}, ptr @placed_text, ptr %name, ptr %facts,
    i32 %x, i32 %y, i32 %z, i32 %column, i32 %row, i32 %plane)
  ret void
}}
{text_global("plain_text", "%s")}
"""
