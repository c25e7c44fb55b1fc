"""Generated programs that change attributes of objects everywhere: in loops, branches, methods, by several names.

Each is a function `f(n, m)` that makes some objects, changes them, and returns what all of them hold.
"""

from __future__ import annotations

import random

CLASSES = """
import triptych as tt
from dataclasses import dataclass

class Counter:
    def __init__(self, n):
        self.n = n
        self.total = 0
    def step(self, k):
        self.n = (self.n + k) % 101
        self.total += self.n
    def lean(self, k):
        if self.n > k:
            self.total -= k
            return self.n
        self.n += 1
        return self.total % 7
    def spin(self, k):
        for j in range(k % 4):
            self.n += j
            if self.n > 40:
                self.n = 0
                break
            if j == self.total % 3:
                continue
            self.total += 1
    def next(self, k):
        self.total += 1
        return self.total % 5 < k
    @property
    def level(self):
        return self.n + self.total
    @level.setter
    def level(self, value):
        self.n = value % 50
        self.total = value % 3
    def __iadd__(self, k):
        self.step(k)
        return self

@dataclass
class Point:
    x: object
    y: object
    def move(self, d):
        self.x, self.y = (self.y + d) % 60, self.x

@dataclass(slots=True)
class Slim:
    z: object
    def grow(self, d):
        self.z = (self.z * 3 + d) % 47

class Holder:
    def __init__(self, inner, point):
        self.inner = inner
        self.items = [inner, point]
        self.table = {"p": point}
        self.count = 0
    def both(self, k):
        self.inner.step(k)
        self.table["p"].move(k)
        self.count += 1

def push(c, k):
    c.step(k)
    if c.total > 30:
        c.total = 0

def twice(change):
    change()
    change()
"""
"""What the programs are about."""

START = [
    "a = Counter(n % 5)",
    "b = Counter(3)",
    "p = Point(1, m % 3)",
    "s = Slim(2)",
    "h = Holder(a, p)",
    "o = Holder(b, p)",
    "q = a",
    "pair = (b, p, s)",
    "def bump():",
    "    a.step(2)",
    "    s.grow(1)",
    "t = 0",
]
CHANGES = [
    "a.step({e})",
    "b.step({e})",
    "q.n = ({e}) % 31",
    "q += {e} % 7",
    "a.total += {e}",
    "t += a.lean({e} % 9)",
    "b.spin({e})",
    "a.spin(t)",
    "p.move({e})",
    "h.both({e})",
    "o.both(2)",
    "h.items[1].x = ({e}) % 13",
    "h.inner.n -= 1",
    "o.table['p'].y += 1",
    "pair[0].total = ({e}) % 17",
    "pair[2].grow({e} % 5)",
    "bump()",
    "twice(bump)",
    "push(h.inner, {e})",
    "setattr(s, 'z', {e} % 19)",
    "a.level = {e} % 23",
    "t = (t + a.level - b.level) % 77",
    "t = (t + p.x + s.z + h.count) % 77",
    "t += 1 if a.next(3) else 2",
    "t += a.next(2) and b.next(3)",
    "h.count, o.count = o.count + 1, h.count",
    "for c in (a, b): c.step(1)",
    "[c.step(2) for c in (a, b)]",
]
NUMBERS = ["n", "m", "t", "1", "4", "i", "a.n", "b.total", "p.x", "h.count", "s.z"]
TESTS = ["n > 2", "m % 2 == 0", "a.n > 3", "t % 3 == 1", "i > 1", "p.x < p.y", "a.next(3)", "b.n > 2 and a.next(2)"]
RESULTS = "a.n, a.total, b.n, b.total, p.x, p.y, s.z, h.count, o.count, q.n, t"
STATEMENTS = ("change", "change", "change", "if", "if", "for", "for", "while", "unrolled", "leave")


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = 0

    def program(self) -> str:
        body = [f"    {line}" for line in (*START, "i = 0")]
        body += self._block(1, 3, in_loop=False)
        return "\n".join([CLASSES, "def f(n, m):", *body, f"    return {RESULTS}", ""])

    def _block(self, depth: int, most: int, in_loop: bool) -> list[str]:
        return [
            line
            for _ in range(self._random.randint(1, most))
            for line in self._statement(depth, in_loop, self._random.choice(STATEMENTS))
        ]

    def _statement(self, depth: int, in_loop: bool, kind: str) -> list[str]:
        pad = "    " * depth
        if kind == "leave":
            return self._leaving(pad, in_loop)
        if kind == "change" or depth > 4:
            return [pad + self._change()]
        inner = self._block(depth + 1, 3, in_loop or kind in ("for", "while"))
        if kind == "if":
            orelse = self._block(depth + 1, 2, in_loop) if self._random.random() < 0.5 else []
            return [f"{pad}if {self._test()}:", *inner, *([f"{pad}else:", *orelse] if orelse else [])]
        self._number += 1
        name = f"k{self._number}"
        if kind == "while":
            head = f"{pad}while {name} < 4 and {self._test()}:"
            return [f"{pad}{name} = 0", head, f"{pad}    {name} += 1", *inner]
        bound = self._random.choice(["n", "m % 4", "3", "a.n % 3"]) if kind == "for" else "2"
        steps = f"range({bound})" if kind == "for" else "tt.range_constexpr(2)"
        return [f"{pad}for {name} in {steps}:", f"{pad}    i = {name}", *inner]

    def _leaving(self, pad: str, in_loop: bool) -> list[str]:
        ways = ["break", "continue"] if in_loop else []
        way = self._random.choice([*ways, f"return {RESULTS}"])
        return [f"{pad}if {self._test()}:", f"{pad}    {self._change()}", f"{pad}    {way}"]

    def _change(self) -> str:
        return self._random.choice(CHANGES).format(e=self._expression())

    def _expression(self) -> str:
        left, right = self._random.choices(NUMBERS, k=2)
        return f"({left} {self._random.choice('+-')} {right})"

    def _test(self) -> str:
        return self._random.choice(TESTS)


def object_program(seed: int) -> str:
    """The text of a program."""
    return Writer(seed).program()
