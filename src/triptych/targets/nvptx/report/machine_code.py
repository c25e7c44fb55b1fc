"""Machine code of kernels, counted before anything has run them: instructions of SASS text and of a cubin, loops."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator

from triptych.support.dataclass import dataclass

# Machine code counts of a cubin itself, which is an ELF file: no disassembler is needed.
#
# From architecture 70 on an instruction takes 16 bytes; its lowest 12 bits say which it is.

_INSTRUCTION_BYTES = 16
_KIND = 0xFFF
_NOP = 0x918
_ELF = b"\x7fELF"
_SECTION_HEADERS = struct.Struct("<40xQ10xHHH")
"""Of the header of a 64-bit ELF file: where section headers begin, how long one is, how many, which has their names."""
_SECTION = struct.Struct("<I20xQQ")
"""Of a section header: where its name is, where its bytes are, how many."""
_TEXT = ".text."


def machine_instructions(cubin: bytes) -> dict[str, int]:
    """The instructions of each function, without the NOPs that pad it."""
    if not cubin.startswith(_ELF):
        return {}  # PTX, which a driver assembles itself
    return {name.removeprefix(_TEXT): _count(code) for name, code in _sections(cubin) if name.startswith(_TEXT)}


def _sections(file: bytes) -> Iterator[tuple[str, bytes]]:
    begin, length, count, names_at = _SECTION_HEADERS.unpack_from(file)
    headers = [_SECTION.unpack_from(file, begin + length * i) for i in range(count)]
    _, names, _ = headers[names_at]
    for name, offset, size in headers:
        text = file[names + name : file.index(b"\0", names + name)].decode()
        yield text, file[offset : offset + size]


def _count(code: bytes) -> int:
    words = (int.from_bytes(code[at : at + 2], "little") for at in range(0, len(code), _INSTRUCTION_BYTES))
    return sum(word & _KIND != _NOP for word in words)


# The loops of SASS text: where kernels spend their time, counted before anything has run them.
#
# A loop is what can be left and entered again only through its first instruction: blocks that the assembler has moved
# out of the way, because they are not always run, belong to it.

_FUNCTION = re.compile(r"^\.text\.(\S+):$")
_LABEL = re.compile(r"^(\.L\w+):")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)")
_TARGET = re.compile(r"`\((\.L\w+)\)")
_JUMPS = frozenset({"BRA", "CALL", "JMP"})
_ENDS = frozenset({"EXIT", "RET"})
_UNIFORM_BRANCH = "BRA.U"
"""Its condition is an operand, not a predicate before it."""
_PADDING = "NOP"


@dataclass(frozen=True, slots=True)
class Loop:
    """The instructions of one loop (`LDG.E.128`)."""

    function: str
    counts: Counter[str]

    @property
    def size(self) -> int:
        return self.counts.total()

    def number_of(self, operation: str) -> int:
        """How many instructions of a name there are, whatever is said after a dot."""
        return sum(number for name, number in self.counts.items() if name.partition(".")[0] == operation)


@dataclass(slots=True)
class _Instruction:
    name: str
    conditional: bool
    target: str | None


def loops(sass: str) -> list[Loop]:
    """Every loop of every function, the largest first."""
    found = [loop for name, lines in _functions(sass).items() for loop in _loops(name, lines)]
    return sorted(found, key=lambda loop: -loop.size)


def _functions(sass: str) -> dict[str, list[str]]:
    functions: dict[str, list[str]] = {}
    current: list[str] = []
    for line in sass.splitlines():
        function = _FUNCTION.match(line)
        if function is not None:
            current = functions.setdefault(function[1], [])
        current.append(line)
    return functions


def _loops(function: str, lines: list[str]) -> list[Loop]:
    instructions, labels = _parsed(lines)
    successors = [_successors(i, instructions, labels) for i in range(len(instructions))]
    before = _dominators(successors)
    bodies: dict[int, set[int]] = {}
    for source, targets in enumerate(successors):
        for target in targets:
            if target in before[source] and target != source:
                bodies.setdefault(target, set()).update(_body(target, source, successors))
    names = [Counter(instructions[i].name for i in body) for body in bodies.values()]
    return [Loop(function, counts) for counts in names]


def _parsed(lines: list[str]) -> tuple[list[_Instruction], dict[str, int]]:
    instructions: list[_Instruction] = []
    labels: dict[str, int] = {}
    for line in lines:
        label, instruction = _LABEL.match(line), _INSTRUCTION.match(line)
        if label is not None:
            labels[label[1]] = len(instructions)
        elif instruction is not None and instruction[2] != _PADDING:
            target = _TARGET.search(instruction[3])
            conditional = bool(instruction[1]) or instruction[2] == _UNIFORM_BRANCH
            instructions.append(_Instruction(instruction[2], conditional, target[1] if target else None))
    return instructions, labels


def _successors(i: int, instructions: list[_Instruction], labels: dict[str, int]) -> list[int]:
    instruction = instructions[i]
    operation = instruction.name.partition(".")[0]
    found = []
    if operation in _JUMPS and instruction.target in labels:
        found.append(labels[instruction.target])
    ends = operation in _ENDS or operation == "BRA"
    if (instruction.conditional or not ends) and i + 1 < len(instructions):
        found.append(i + 1)
    return [target for target in found if target < len(instructions)]


def _dominators(successors: list[list[int]]) -> list[set[int]]:
    """For each instruction those that every path to it goes through; of jumps only, which is all that loops need."""
    count = len(successors)
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for source, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(source)
    heads = {target for source, targets in enumerate(successors) for target in targets if target != source + 1}
    known: list[set[int] | None] = [None] * count
    if count:
        known[0] = {0} & heads
    changed = True
    while changed:
        changed = False
        for i in range(1, count):
            ways = [way for p in predecessors[i] if (way := known[p]) is not None]
            if ways:
                through = set.intersection(*ways) | ({i} & heads)
                if through != known[i]:
                    known[i], changed = through, True
    return [way or set() for way in known]


def _body(head: int, last: int, successors: list[list[int]]) -> set[int]:
    """What leads to the jump back without going through the head."""
    predecessors: dict[int, list[int]] = {}
    for source, targets in enumerate(successors):
        for target in targets:
            predecessors.setdefault(target, []).append(source)
    body, open_ends = {head}, [last]
    while open_ends:
        i = open_ends.pop()
        if i not in body:
            body.add(i)
            open_ends += predecessors.get(i, [])
    return body


# Instruction counts of SASS text: what kernels cost before anything has run them.


def instruction_counts(sass: str) -> dict[str, Counter[str]]:
    """For each function, how many there are of each instruction (`LDG.E.128`); NOPs, which pad it, are left out."""
    counts: dict[str, Counter[str]] = {}
    current: Counter[str] = Counter()
    for line in sass.splitlines():
        function = _FUNCTION.match(line)
        if function is not None:
            current = counts.setdefault(function[1], Counter())
        instruction = _INSTRUCTION.match(line)
        if instruction is not None and instruction[2] != "NOP":
            current[instruction[2]] += 1
    return counts
