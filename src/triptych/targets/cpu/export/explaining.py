"""LLVM IR that says which tensor of a call does not fit, and why: exported code has no Python to find out.

Input: the leaves of the signature. Output: a module with one function, called after the entry has refused. It asks the
questions of `entry_arguments` again, one by one, and writes the words of the first that is answered with no.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.interop.dlpack import ELEMENT_CODES
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.targets.cpu.abi.abi import TENSOR_HEADER, TENSOR_TAG, VIEW_TAG
from triptych.targets.cpu.export.llvm_lines import LlvmLines
from triptych.targets.cpu.export.native_error_code import EXPLAIN, text_global

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
        self._lines.add("ret void")
