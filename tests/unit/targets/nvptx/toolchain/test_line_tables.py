"""Instructions know the Python line they come from, also through an inlined function."""

from __future__ import annotations

import inspect
import re
from typing import Any

import triptych as tt
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler, needs_disassembler
from triptych import cute
from triptych.targets.nvptx.toolchain.programs import disassemble

pytestmark = [needs_assembler, needs_disassembler]
_PLACE = re.compile(r'//## File "([^"]+)", line (\d+)')


def reciprocal(x: Any) -> Any:
    return cute.arch.rcp_approx(x)


@tt.kernel
def inverted(a: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    value = a[t]
    a[t] = reciprocal(value)


@tt.jit
def invert(a: cute.Tensor) -> None:
    inverted(a).launch(grid=1, block=32)


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def lines_by_instruction(sass: str) -> dict[str, int]:
    """The line of the last instruction of each name."""
    found: dict[str, int] = {}
    line = 0
    for row in sass.splitlines():
        place = _PLACE.search(row)
        if place is not None:
            assert place[1] == __file__
            line = int(place[2])
        instruction = re.match(r"\s*/\*[0-9a-f]{4}\*/\s+(\w+)", row)
        if instruction is not None:
            found[instruction[1]] = line
    return found


def test_sass_lines_are_python_lines() -> None:
    compiled = tt.compile(invert, vector(), target="nvptx:sm_80", options="--generate-line-info")
    lines = lines_by_instruction(disassemble(compiled.__cubin__, "-g"))
    assert lines["LDG"] == line_of(inverted.function, "value = a[t]")
    assert lines["MUFU"] == line_of(reciprocal, "rcp_approx")
    assert lines["STG"] == line_of(inverted.function, "a[t] = reciprocal")


def test_the_code_is_the_same_with_and_without() -> None:
    plain = tt.compile(invert, vector(), target="nvptx:sm_80")
    traceable = tt.compile(invert, vector(), target="nvptx:sm_80", options="--generate-line-info")
    assert ".loc" not in plain.__ptx__
    assert ".loc" in traceable.__ptx__
    assert plain.__sass__ == traceable.__sass__
