"""Resource report of the assembler: what a kernel takes of a GPU, and how many blocks of it fit at once.

The report is text for people, the same from the program and the library; its numbers are in no other place that both
give.
"""

from __future__ import annotations

import re
from dataclasses import replace

from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.description.architectures import (
    REGISTER_PIECE,
    REGISTERS,
    RESERVED_SHARED,
    SHARED_PIECE,
    WARP,
    Architecture,
)

# Occupancy limits: how many blocks a multiprocessor holds, what limits that first, and the next step.
#
# The rules are NVIDIA's, of the occupancy calculator and the tables of compute capabilities: registers are given to
# warps in pieces of 256, to four warps at once; shared memory in pieces of 128 bytes, with 1 KiB more for each block.
_WARPS_TOGETHER = 4
"""A multiprocessor has four parts, each with its share of the registers; warps go to them in turn."""
_FEWEST_REGISTERS = 16
"""Kernels below are not made."""


@dataclass(frozen=True, slots=True)
class Need:
    """What one block takes."""

    threads: int
    registers: int | None
    """Of a thread; None where no assembler has said it."""
    shared: int
    """Bytes, without those that the system takes."""

    @property
    def warps(self) -> int:
        return -(-self.threads // WARP)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many blocks each thing allows."""

    by: dict[str, int]

    @property
    def blocks(self) -> int:
        return min(self.by.values())

    @property
    def first(self) -> tuple[str, ...]:
        """What limits: more than one where they are equal."""
        return tuple(name for name, blocks in self.by.items() if blocks == self.blocks)


def limits(need: Need, architecture: Architecture) -> Limits:
    """The limits of one multiprocessor."""
    shared = _rounded(need.shared + RESERVED_SHARED, SHARED_PIECE)
    by = {
        "registers": _by_registers(need.registers, need.warps),
        "shared memory": architecture.shared // shared,
        "threads": architecture.threads // (need.warps * WARP),
        "blocks": architecture.blocks,
    }
    return Limits({name: blocks for name, blocks in by.items() if blocks is not None})


def next_step(need: Need, architecture: Architecture) -> str:
    """What would let one more block in: "4 registers fewer: 3 blocks instead of 2"; nothing where nothing would, or
    where all warps are in use already."""
    now = limits(need, architecture)
    if now.blocks * need.warps * WARP == architecture.threads:
        return ""
    wanted, other, words = now.blocks + 1, need, []
    for name in (name for name, blocks in now.by.items() if blocks < wanted):
        if name == "registers" and need.registers is not None:
            fewer = range(need.registers - 1, _FEWEST_REGISTERS - 1, -1)
            registers = next((r for r in fewer if (_by_registers(r, need.warps) or 0) >= wanted), None)
            if registers is None:
                return ""
            other = replace(other, registers=registers)
            words.append(_fewer(need.registers - registers, "register"))
        elif name == "shared memory":
            room = architecture.shared // wanted // SHARED_PIECE * SHARED_PIECE - RESERVED_SHARED
            if room < 0:
                return ""
            other = replace(other, shared=room)
            words.append(f"{_fewer(need.shared - room, 'byte')} of shared memory")
        elif name == "threads":
            threads = architecture.threads // wanted // WARP * WARP
            if not threads:
                return ""
            other = replace(other, threads=threads)
            words.append(_fewer(need.threads - threads, "thread"))
        else:
            return ""
    blocks = limits(other, architecture).blocks
    return f"{' and '.join(words)} fewer: {blocks} block{'' if blocks == 1 else 's'} instead of {now.blocks}"


def _fewer(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _by_registers(registers: int | None, warps: int) -> int | None:
    if registers is None:
        return None
    of_a_warp = _rounded(max(registers, 1) * WARP, REGISTER_PIECE)
    return REGISTERS // of_a_warp // _WARPS_TOGETHER * _WARPS_TOGETHER // warps


def _rounded(number: int, piece: int) -> int:
    return -(-number // piece) * piece


_KERNEL = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
_FACTS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "barriers": re.compile(r"used (\d+) barriers"),
    "shared": re.compile(r"(\d+) bytes smem"),
    "stack": re.compile(r"(\d+) bytes stack frame"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
}
_REMARK = re.compile(r"\((C75\d\d)\) (?:Potential Performance Loss: |(?=wgmma\.wait_group))([^\n]*)")
"""They are no warnings of the assembler: code with them is right, and several times slower than it could be. Others
only tell that it has added an instruction where it is needed."""
_FUNCTION = re.compile(r"function '([^']+)'")


@dataclass(frozen=True, slots=True)
class Resources:
    """One kernel on one architecture."""

    kernel: str
    architecture: str
    registers: int = 0
    """Of each thread."""
    barriers: int = 0
    shared: int = 0
    """Bytes of shared memory whose size is known here; a launch adds its own."""
    stack: int = 0
    """Bytes of local memory of each thread."""
    spill_stores: int = 0
    """Bytes that each thread puts into local memory because registers do not suffice."""
    spill_loads: int = 0
    remarks: tuple[str, ...] = ()
    """What the assembler says that costs time, each with its number: `C7513 wgmma instructions are serialized ...`."""


def read_report(report: str) -> dict[str, Resources]:
    """The resources of every kernel in an assembler's report, by the kernel's name."""
    remarks = [(number, words.strip()) for number, words in _REMARK.findall(report)]
    _, *sections = re.split(r"(?=Compiling entry function)", report)
    found: dict[str, Resources] = {}
    for section in sections:
        head = _KERNEL.match(section)
        if head is not None:
            numbers = {fact: int(match[1]) for fact, form in _FACTS.items() if (match := form.search(section))}
            said = tuple(f"{number} {words}" for number, words in remarks if _is_about(words, head[1]))
            found[head[1]] = Resources(head[1], head[2], **numbers, remarks=said)
    return found


def _is_about(words: str, kernel: str) -> bool:
    """Remarks that name no function are about all."""
    named = _FUNCTION.findall(words)
    return not named or kernel in named


def occupancy(resources: Resources, architecture: Architecture, threads: int, shared: int = 0) -> int:
    """How many blocks of `threads` threads, each launched with `shared` bytes, a multiprocessor holds at once."""
    return limits(Need(threads, resources.registers, resources.shared + shared), architecture).blocks
