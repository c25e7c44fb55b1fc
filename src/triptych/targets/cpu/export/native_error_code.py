"""LLVM IR of errors in exported objects: a code and a text for each thread, instead of an exception of Python.

Part of `native_code`. The functions have the names that compiled code calls in a Python process, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.interop.dlpack import ELEMENT_CODES
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.targets.cpu.abi.abi import FAIL, REFUSE, REFUSE_COUNT, REFUSE_TENSORS, TENSOR_HEADER, TENSOR_TAG, VIEW_TAG
from triptych.targets.cpu.calling.calling_python import RAISE
from triptych.targets.cpu.export.c_interface import BAD_ARGUMENT, FAILED
from triptych.targets.cpu.export.llvm_lines import LlvmLines
from triptych.targets.cpu.runtime.pool_fault_code import text_global

EXPLAIN = "triptych.explain"
"""Of the exported program: the packed values of a call, and room for a text that says which tensor does not fit."""
TEXT_SIZE = 1024


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

# LLVM IR that says which tensor of a call does not fit, and why: exported code has no Python to find out.
#
# Input: the leaves of the signature. Output: a module with one function, called after the entry has refused. It asks
# the questions of `entry_arguments` again, one by one, and writes the words of the first that is answered with no.

_OPERATIONS = {"+": "add", "*": "mul", "&": "and", "^": "xor"}


def explaining_code(leaves: Sequence[Leaf]) -> str:
    """The module's text."""
    explanation = _Explanation()
    for i, leaf in enumerate(leaves):
        if leaf.memory is not None:
            explanation.ask_alone(i, leaf, leaf.memory)
    explanation.ask_together()
    return explanation.text()


class _Explanation:
    def __init__(self) -> None:
        self._lines = LlvmLines()
        self._constants = ""
        self._texts = 0
        self._known: dict[str, str] = {}
        self._relations: list[tuple[str, str, str, str]] = []
        """The integer as a person names it, what it is, what it should be, and whether it does not matter."""

    def text(self) -> str:
        self._say("a tensor does not fit")
        return f"""{self._constants}
declare i32 @snprintf(ptr, i64, ptr, ...)
declare i64 @llvm.smin.i64(i64, i64)
define void @{EXPLAIN}(ptr %packed, ptr %text, i64 %size) cold noinline {{
{self._lines.text}
}}
"""

    def ask_alone(self, i: int, leaf: Leaf, memory: Memory) -> None:
        lines, rank = self._lines, len(memory.shape)
        what = f"argument '{leaf.path}'"
        tag = lines.field("%packed", 16 * i, "i32")
        is_view, is_object = (lines.set(f"icmp eq i32 {tag}, {kind}") for kind in (VIEW_TAG, TENSOR_TAG))
        self._require(lines.set(f"or i1 {is_view}, {is_object}"), f"{what} must be a tensor of {leaf.dtype}")
        start = lines.set(f"select i1 {is_view}, i64 0, i64 {TENSOR_HEADER}")
        handle = lines.field("%packed", 16 * i + 8, "ptr")
        described = lines.set(f"getelementptr i8, ptr {handle}, i64 {start}")
        code, bits = ELEMENT_CODES[leaf.dtype]
        kind, modes = lines.field(described, 20, "i32"), lines.field(described, 16, "i32")
        right = lines.set(f"icmp eq i32 {kind}, {code | bits << 8 | 1 << 16}")
        self._require(right, f"{what} has elements of another type: expected {leaf.dtype}")
        right = lines.set(f"icmp eq i32 {modes}, {rank}")
        self._require(right, f"{what} has %d modes: expected {rank}", f"i32 {modes}")
        device = lines.field(described, 8, "i32")
        near = "false"
        for allowed in memory.devices:
            near = lines.set(f"or i1 {near}, {lines.set(f'icmp eq i32 {device}, {allowed}')}")
        self._require(near, f"{what} is not in memory that the target reads (DLPack's device %d)", f"i32 {device}")
        self._ask_layout(what, leaf, memory, described)

    def _ask_layout(self, what: str, leaf: Leaf, memory: Memory, described: str) -> None:
        lines, rank = self._lines, len(memory.shape)
        extents = self._integers(described, 24, rank)
        if rank:
            there = lines.set(f"icmp ne ptr {lines.field(described, 32, 'ptr')}, null")
            self._require(there, f"{what} has no strides")
        strides = self._integers(described, 32, rank)
        empty = "false"
        for extent in extents:
            empty = lines.set(f"or i1 {empty}, {lines.set(f'icmp eq i64 {extent}, 0')}")
        data = lines.set(f"ptrtoint ptr {lines.field(described, 0, 'ptr')} to i64")
        address = lines.set(f"add i64 {data}, {lines.field(described, 40, 'i64')}")
        present = lines.set(f"or i1 {empty}, {lines.set(f'icmp ne i64 {address}, 0')}")
        self._require(present, f"{what} has no memory: a null address")
        beyond = lines.set(f"and i64 {address}, {memory.alignment - 1}")
        aligned = lines.set(f"icmp eq i64 {beyond}, 0")
        self._require(
            aligned, f"{what} is not aligned: 0x%llx is not a multiple of {memory.alignment}", f"i64 {address}"
        )
        idle = [lines.set(f"or i1 {empty}, {lines.set(f'icmp sle i64 {extent}, 1')}") for extent in extents]
        unknowns = {unknown.name: unknown for unknown in memory.unknowns}
        named = [(f"shape[{k}]", memory.shape[k], extents[k], "false") for k in range(rank)]
        named += [(f"stride[{k}]", memory.stride[k], strides[k], idle[k]) for k in range(rank)]
        for name, wanted, found, excused in named:
            unknown = unknowns.pop(wanted, None)
            if unknown is None:
                self._relations.append((f"{what} has another {name}", found, wanted, excused))
            else:
                self._learn(f"{what} has an unfit {name}", unknown, found, excused)

    def _learn(self, what: str, unknown: SymbolicExtent, found: str, excused: str) -> None:
        lines, largest = self._lines, (1 << (unknown.width - 1)) - 1
        good = lines.set(f"icmp ule i64 {found}, {largest}")
        rest = lines.set(f"icmp eq i64 {lines.set(f'srem i64 {found}, {unknown.divisor}')}, 0")
        good = lines.set(f"and i1 {good}, {rest}")
        multiple = f"a multiple of {unknown.divisor} " if unknown.divisor > 1 else ""
        fits = lines.set(f"or i1 {good}, {excused}")
        self._require(fits, f"{what}: %lld, expected {multiple}from 0 to {largest}", f"i64 {found}")
        self._known[unknown.name] = lines.set(f"select i1 {good}, i64 {found}, i64 0")

    def ask_together(self) -> None:
        for what, found, text, excused in self._relations:
            wanted = self._evaluated(text)
            same = self._lines.set(f"icmp eq i64 {found}, {wanted}")
            fits = self._lines.set(f"or i1 {same}, {excused}")
            self._require(fits, f"{what}: %lld, expected %lld", f"i64 {found}", f"i64 {wanted}")

    def _evaluated(self, text: str) -> str:
        stack: list[str] = []
        for word in text.split():
            if word in self._known or word.lstrip("-").isdigit():
                stack.append(self._known.get(word, word))
                continue
            right, left = stack.pop(), stack.pop()
            minimum = f"call i64 @llvm.smin.i64(i64 {left}, i64 {right})"
            operation = f"{_OPERATIONS.get(word, 'sdiv')} i64 {left}, {right}"
            stack.append(self._lines.set(minimum if word == "min" else operation))
        return stack[0]

    def _integers(self, described: str, offset: int, rank: int) -> list[str]:
        first = self._lines.field(described, offset, "ptr") if rank else ""
        return [self._lines.field(first, 8 * k, "i64") for k in range(rank)]

    def _require(self, condition: str, text: str, *values: str) -> None:
        lines = self._lines
        otherwise, following = lines.label("no"), lines.label("yes")
        lines.add(f"br i1 {condition}, label %{following}, label %{otherwise}")
        lines.begin(otherwise)
        self._say(text, *values)
        lines.begin(following)

    def _say(self, text: str, *values: str) -> None:
        name = f"triptych.words{self._texts}"
        self._texts += 1
        self._constants += text_global(name, text)
        passed = ", ".join(["ptr %text", "i64 %size", f"ptr @{name}", *values])
        self._lines.set(f"call i32 (ptr, i64, ptr, ...) @snprintf({passed})")
        self._lines.leave()
