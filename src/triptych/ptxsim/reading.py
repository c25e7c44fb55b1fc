"""PTX parser: kernels with their parameters, registers and instructions, and the variables of a module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

TYPE_BYTES = {f"{letter}{bits}": bits // 8 for letter in "bsu" for bits in (8, 16, 32, 64, 128)}
TYPE_BYTES |= {
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
    "f16x2": 4,
    "bf16x2": 4,
    "f32x2": 8,
    "s16x2": 4,
    "u16x2": 4,
    "pred": 1,
}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*\.file\s[^\n]*", re.DOTALL | re.MULTILINE)
"""Also the files of the line table, which are read apart."""
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"\n]*)"', re.MULTILINE)
_LINE = re.compile(r"^\s*(\.loc\s+\d+\s+\d+)[^\n;]*", re.MULTILINE)
"""Where in a program the instructions come from that follow. It ends without a semicolon."""
_PLACE = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\((.*?)\)([^{]*)\{", re.DOTALL)
_VARIABLE = re.compile(
    r"\.(shared|global|const|local|param)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)"
    r"(?:\[(\d*)\])?(?:\s*=\s*\{?([^;{}]*)\}?)?\s*$"
)
_DECLARED = re.compile(r"\.(?:shared|global|const)\s+\.[^;]*")
_POINTED = re.compile(r"\s\.ptr(\s\.(global|shared|const))?(\s\.align\s\d+)?\s")
"""What a parameter says of the memory it points to."""
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*)", re.DOTALL)
_GUARD = re.compile(r"@(!?)(%?[\w$]+)\s+(.*)", re.DOTALL)
_BRACED = re.compile(r"((?:^|[;:}])\s*)\{((?:[^{}]|\{[^{};]*\})*[;:]\s*)\}")
"""Statements in braces, of which none are in braces again."""
_INNER = re.compile(r"\.reg\s+\.\w+\s+([^;]*);")
_VECTOR = re.compile(r"\.reg\s+\.v([24])\s+\.(\w+)\s+([^;]*);")
_INNER_LABEL = re.compile(r"(?:^|;)\s*([\w$]+)\s*:(?!:)")
_LABEL = re.compile(r"[\w$]+")


@dataclass(frozen=True, slots=True)
class Variable:
    """A place in one of the memories. A size of None is what the launch provides."""

    name: str
    space: str
    align: int
    size: int | None
    first: tuple[int | str, ...] = ()
    """What its elements are at the start: numbers, or variables whose addresses they are."""
    each: int = 1
    """Bytes of an element."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """`@guard name.modifiers operands;`"""

    name: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""
    negated: bool = False

    @property
    def type(self) -> str:
        """The last type it names, which is that of its operands."""
        return next(word for word in reversed(self.modifiers) if word in TYPE_BYTES)

    def __str__(self) -> str:
        guard = f"@{'!' if self.negated else ''}{self.guard} " if self.guard else ""
        return f"{guard}{'.'.join((self.name, *self.modifiers))} {', '.join(self.operands)};"


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """A line of the program that a kernel was made from."""

    file: str
    number: int


@dataclass(slots=True)
class Kernel:
    """A kernel's code. Labels and tables of labels are places in it."""

    name: str
    parameters: list[Variable]
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    """Their types, by name; by the name without its number for those that are declared as many."""
    variables: list[Variable] = field(default_factory=list)
    cluster: tuple[int, ...] = ()
    """The blocks of a cluster, if the code says so."""
    lines: list[Line | None] = field(default_factory=list)
    """Where each instruction comes from, as far as the text tells."""


@dataclass(slots=True)
class Module:
    """The kernels of a text, and its variables."""

    kernels: Mapping[str, Kernel]
    variables: Sequence[Variable]


def read(text: str) -> Module:
    """All of a text that runs."""
    files = {int(number): name for number, name in _FILE.findall(text)}
    text = _LINE.sub(r"\1;", _COMMENT.sub(" ", text))
    kernels, outside, end = {}, [], 0
    for found in _ENTRY.finditer(text):
        outside.append(text[end : found.start()])
        end = _closing(text, found.end())
        parameters = [_variable(_POINTED.sub(" ", part.strip())) for part in split(found[2])]
        kernel = Kernel(found[1], parameters, cluster=_cluster(found[3]))
        kernels[found[1]] = _kernel(kernel, _with_own_names(text[found.end() : end]), files)
    variables = [_variable(found[0]) for part in (*outside, text[end:]) for found in _DECLARED.finditer(part)]
    return Module(kernels, variables)


def _cluster(directives: str) -> tuple[int, ...]:
    found = re.search(r"\.reqnctapercluster\s+([\d,\s]+)", directives)
    return tuple((*map(int, split(found[1])), 1, 1)[:3]) if found else ()


def _with_own_names(body: str) -> str:
    """Names that statements in braces declare for themselves get a number: other braces may declare them too."""
    number = 0
    while found := _BRACED.search(body):
        number += 1
        inner = _without_vectors(found[2])
        names = {name for each in _INNER.findall(inner) for name in split(each) if "<" not in name}
        names |= set(_INNER_LABEL.findall(inner))
        for name in names:
            inner = re.sub(rf"(?<![\w$%.]){re.escape(name)}(?![\w$:]*::)(?![\w$])", f"{name}$${number}", inner)
        body = body[: found.start()] + found[1] + inner + body[found.end() :]
    return body


def _without_vectors(text: str) -> str:
    """The elements of a vector `v`, which are `v.x` and so on, as registers of their own; `v` as the list of them."""
    for found in list(_VECTOR.finditer(text)):
        elements, declared = "xyzw"[: int(found[1])], []
        for name in split(found[3]):
            parts = [f"{name}_{element}" for element in elements]
            text = re.sub(rf"(?<![\w$%.]){re.escape(name)}\.(?=[{elements}]\b)", f"{name}_", text)
            text = re.sub(rf"(?<![\w$%.]){re.escape(name)}(?![\w$.])(?=[^;]*;)", f"{{{', '.join(parts)}}}", text)
            declared += parts
        text = _VECTOR.sub(f".reg .{found[2]} {', '.join(declared)};", text, count=1)
    return text


def _closing(text: str, start: int) -> int:
    depth, at = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _kernel(kernel: Kernel, body: str, files: Mapping[int, str]) -> Kernel:
    label, line = "", None
    for kind, text in _statements(body):
        if kind == "label":
            label = text
            kernel.labels[text] = len(kernel.instructions)
        elif text.startswith(".branchtargets"):
            kernel.tables[label] = split(text.removeprefix(".branchtargets"))
        elif found := _PLACE.match(text):
            file, number = int(found[1]), int(found[2])
            line = Line(files[file], number) if number and file in files else None
        elif found := _REGISTERS.match(text):
            for name in split(found[2]):
                kernel.registers[name.partition("<")[0]] = found[1]
        elif re.match(r"\.(shared|local)\b", text):
            kernel.variables.append(_variable(text))
        elif not text.startswith("."):
            kernel.instructions.append(_instruction(text))
            kernel.lines.append(line)
    return kernel


def _statements(body: str) -> Iterator[tuple[str, str]]:
    """Labels and statements. Braces around statements only bound the lives of names, and names are not used twice."""
    at = 0
    for found in re.finditer(r"[;:{}]", body):
        text = body[at : found.start()].strip()
        mark = found[0]
        if mark == ";":
            yield "statement", text
        elif mark == ":" and _LABEL.fullmatch(text) and body[found.end()] != ":":
            yield "label", text
        elif text:  # of an operand
            continue
        at = found.end()


def _instruction(text: str) -> Instruction:
    guard, negated = "", False
    if found := _GUARD.match(text):
        negated, guard, text = bool(found[1]), found[2], found[3]
    opcode, *operands = text.split(None, 1)
    name, *modifiers = opcode.split(".")
    return Instruction(name, tuple(modifiers), tuple(split(" ".join(operands))), guard, negated)


def split(text: str) -> list[str]:
    """What is between commas that are in no braces or brackets."""
    parts, depth, at = [], 0, 0
    for place, letter in enumerate(text):
        depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append(text[at:place])
            at = place + 1
    return [part for each in (*parts, text[at:]) if (part := each.strip())]


def _variable(text: str) -> Variable:
    found = _VARIABLE.match(text)
    assert found is not None, text
    space, align, kind, name, count, first = found.groups()
    each = TYPE_BYTES[kind]
    size = None if count == "" else each * int(count or 1)
    return Variable(name, space, int(align or each), size, tuple(map(_first, split(first or ""))), each)


def _first(text: str) -> int | str:
    found = re.fullmatch(r"generic\((.*)\)", text)
    return found[1] if found else int(text, 0)
