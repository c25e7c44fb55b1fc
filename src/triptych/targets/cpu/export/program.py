"""The program of an exported object: its LLVM IR, with everything that calls Python declared instead of defined.

Input: the lowered program, as this process would run it. Output: a module for which `native_code` has the functions
that report errors and print, and whose entry the modules beside it call.
"""

from __future__ import annotations

import os
import re

from triptych.diagnostics.check_facts import unpack
from triptych.stages import Lowered
from triptych.targets.cpu.calling.calling_python import RAISE, WRITE
from triptych.targets.cpu.export.c_entry import BODY, ENTRY
from triptych.targets.cpu.passes.poll_loops import POLL
from triptych.targets.cpu.runtime.float16 import with_float_helpers
from triptych.targets.cpu.runtime.int128 import with_division_helpers

_NATIVE = {
    RAISE: "declare void @{name}(ptr, ptr, i64, i64, i64)",
    WRITE: "declare i32 @{name}(ptr, i64)",
    POLL: "declare i32 @{name}(ptr)",
}
"""What `native_code` defines."""
_CHECK = re.compile(r'^(@triptych\.check\d+) = internal constant \[\d+ x i8\] c"(.*)\\00"', re.MULTILINE)


def program_text(lowered: Lowered) -> str:
    """The module of the program, whose entry and body are called `ENTRY` and `BODY`."""
    text = with_division_helpers(with_float_helpers(lowered.llvm))
    for name, declaration in _NATIVE.items():
        definition = re.compile(rf"^define internal [^\n]*@{re.escape(name)}\(.*?^}}\n", re.MULTILINE | re.DOTALL)
        text = definition.sub(declaration.format(name=name) + "\n", text)
    text = _renamed(_renamed(text, lowered.entry, ENTRY), f"{lowered.traced.name}.body", BODY)
    text = text.replace(f"define internal {_returned(text)} @{BODY}(", f"define {_returned(text)} @{BODY}(")
    return _CHECK.sub(_readable, text)


def body_types(text: str) -> tuple[str, ...]:
    """The types of the parameters of the body."""
    found = re.search(rf"^define [^\n]*@{re.escape(BODY)}\((.*)\)[^)]*{{$", text, re.MULTILINE)
    assert found is not None, "the last pass has written it"
    parameters = re.findall(r"(ptr addrspace\(\d+\)|\w+)(?: \w+)* %\d+", found[1])
    return tuple(parameters)


def _returned(text: str) -> str:
    found = re.search(rf"^define internal (.*) @{re.escape(BODY)}\(", text, re.MULTILINE)
    return found[1] if found is not None else "i32"


def _renamed(text: str, name: str, new: str) -> str:
    """LLVM quotes names with other characters than those of C."""
    return re.sub(rf'@(?:{re.escape(name)}\b(?!\.)|"{re.escape(name)}")', f"@{new}", text)


def _readable(found: re.Match[str]) -> str:
    """The facts of a check as one line; the path of its file says nothing on other machines."""
    packed = re.sub(rb"\\([0-9A-F]{2})", lambda byte: bytes([int(byte[1], 16)]), found[2].encode()).decode()
    if not packed.startswith("{"):
        return found[0]
    facts = unpack(packed)
    span = facts.get("span")
    place = f"{os.path.basename(span.file)}:{span.line}: " if span is not None else ""
    details = [f"{name} {facts[name]}" for name in ("found", "expected") if facts.get(name)]
    data = f"{place}{facts['title']}{''.join(f'; {detail}' for detail in details)}".encode()
    escaped = "".join(f"\\{byte:02X}" for byte in (*data, 0))
    return f'{found[1]} = internal constant [{len(data) + 1} x i8] c"{escaped}"'
