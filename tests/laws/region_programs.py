"""Programs with blocks that one lane runs: every construct in such a block, in a whole warp and in a part of one.

Each is the middle of a kernel: it starts with `v = 0` and ends by writing `v`. What a lane writes is said beside it, by
the lane's distance from the first one that gets there; None is nothing, REFUSED an error with a code.
"""

from __future__ import annotations

import itertools
import linecache
import textwrap
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute
from triptych.support.errors import TriptychError

REFUSED = "refused"
UNWRITTEN = -1
LANES = 32
FIRST = {"a whole warp": 0, "a part of a warp": 5}
"""Where a block stands, and the first lane that gets there."""


class Point:
    def __init__(self, x: Any) -> None:
        self.x = x


def pick(a: Any) -> Any:
    with cute.arch.elect_one():
        return a
    return a + 1  # type: ignore[unreachable]  # a checker takes every block for one that runs


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    body: str
    expected: Callable[[int], Any] | str
    """By the distance of a lane from the first one."""


PROGRAMS = tuple(
    Program(name, textwrap.dedent(body).strip(), expected)
    for name, body, expected in (
        ("constant", "with elect_one():\n    v = 1", lambda d: int(d == 0)),
        ("expression", "with elect_one():\n    v = n + 7", lambda d: 12 if d == 0 else 0),
        ("augmented", "with elect_one():\n    v += 3", lambda d: 3 if d == 0 else 0),
        ("two variables", "w = 2\nwith elect_one():\n    v, w = 5, 6\nv = v * 10 + w", lambda d: 56 if d == 0 else 2),
        ("if", "with elect_one():\n    if n > 2:\n        v = 4\n    else:\n        v = 6", lambda d: 4 * (d == 0)),
        ("static if", "with elect_one():\n    if tt.const_expr(True):\n        v = 4", lambda d: 4 * (d == 0)),
        ("loop", "with elect_one():\n    for i in range(n):\n        v += i", lambda d: 10 * (d == 0)),
        ("unrolled loop", "with elect_one():\n    for i in (1, 2, 3):\n        v += i", lambda d: 6 * (d == 0)),
        ("while", "with elect_one():\n    while v < n:\n        v += 2", lambda d: 6 * (d == 0)),
        ("walrus", "with elect_one():\n    use((v := 6))", lambda d: 6 * (d == 0)),
        ("nested block", "with elect_one():\n    with elect_one():\n        v = 2", lambda d: 2 * (d == 0)),
        ("two blocks", "with elect_one():\n    v = 2\nwith elect_one():\n    v += 3", lambda d: 5 * (d == 0)),
        ("name", "with elect_one() as e:\n    v = 1 if e is None else 2", lambda d: int(d == 0)),
        ("last of two", "with nullcontext(), elect_one():\n    v = 1", lambda d: int(d == 0)),
        ("first of two", "with elect_one(), nullcontext():\n    v = 1", REFUSED),
        ("return", "with elect_one():\n    return", lambda d: None if d == 0 else 0),
        ("return of some", "with elect_one():\n    if n > 2:\n        return\nv = 3", lambda d: None if d == 0 else 3),
        ("return of none", "with elect_one():\n    if n > 7:\n        return\nv = 3", lambda d: 3),
        ("return of a value", "with elect_one():\n    return 3", REFUSED),
        ("return of a callee", "v = pick(n)", lambda d: 5 if d == 0 else 6),
        ("break", "for i in range(3):\n    with elect_one():\n        break\n    v += 1", lambda d: min(d, 3)),
        (
            "break of unrolled",
            "for i in (1, 2):\n    with elect_one():\n        break\n    v += i",
            lambda d: (0, 1, 3)[min(d, 2)],
        ),
        ("break of while", "while True:\n    v += 1\n    with elect_one():\n        break", lambda d: d + 1),
        ("continue", "for i in range(3):\n    with elect_one():\n        continue\n    v += 1", lambda d: 3 * (d > 0)),
        ("else", "for i in range(2):\n    with elect_one():\n        break\nelse:\n    v = 8", lambda d: 8 * (d > 1)),
        ("attribute", "p = Point(n)\nwith elect_one():\n    p.x = 3\nv = p.x", lambda d: 3 if d == 0 else 5),
        ("append", "items = [1]\nwith elect_one():\n    items.append(2)\nv = len(items)", REFUSED),
        ("item", "items = [1]\nwith elect_one():\n    items[0] = 2\nv = items[0]", REFUSED),
        ("dict item", "items = {}\nwith elect_one():\n    items[0] = 2\nv = len(items)", REFUSED),
        ("only inside", "with elect_one():\n    w = 2\nv = w", REFUSED),
        ("only inside, run time", "with elect_one():\n    w = n + 2\nv = w", REFUSED),
        ("deleted", "w = 1\nwith elect_one():\n    del w\nv = w", REFUSED),
        ("function", "def f():\n    return 1\nwith elect_one():\n    def f():\n        return 2\nv = f()", REFUSED),
        ("raise", "with elect_one():\n    raise ValueError", REFUSED),
        ("another type", "with elect_one():\n    v = 1.5", REFUSED),
        ("None", "with elect_one():\n    v = None", REFUSED),
        ("text", "with elect_one():\n    v = 'a'", REFUSED),
    )
)
_NUMBERS = itertools.count()


def use(value: object) -> None:
    """For values that nobody needs."""


def outcome(program: Program, where: str) -> Any:
    """What the lanes write, or REFUSED."""
    body = textwrap.indent(program.body, "    ")
    if FIRST[where]:
        body = f"    if lane >= {FIRST[where]}:\n" + textwrap.indent(body, "    ")
    text = f"def body(o, n):\n    lane = cute.arch.lane_idx()\n    v = 0\n{body}\n    o[lane] = v\n"
    file = f"<region program {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"tt": tt, "cute": cute, "elect_one": cute.arch.elect_one, "nullcontext": nullcontext}
    names |= {"Point": Point, "pick": pick, "use": use}
    exec(compile(text, file, "exec"), names)
    kernel: Any = tt.kernel(names["body"])

    @tt.jit
    def launch(o: cute.Tensor, n: tt.Int32) -> None:
        kernel(o, n).launch(grid=1, block=LANES)

    written = np.full(LANES, UNWRITTEN, np.int32)
    try:
        launch(written, 5)
    except TriptychError:
        return REFUSED
    return written.tolist()


def expected(program: Program, where: str) -> Any:
    """What the lanes should write."""
    if isinstance(program.expected, str):
        return program.expected
    found = []
    for lane in range(LANES):
        value = program.expected(lane - FIRST[where]) if lane >= FIRST[where] else 0
        found.append(UNWRITTEN if value is None else int(value))
    return found
