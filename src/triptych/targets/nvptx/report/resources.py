"""Resource report of the assembler: what a kernel takes of a GPU, and how many blocks of it fit at once.

The report is text for people, the same from the program and the library; its numbers are in no other place that both
give.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from triptych.targets.nvptx.description.architectures import Architecture
from triptych.targets.nvptx.report.limits import Need, limits

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
