"""What the pre-stage knows of methods and of loops that call them, before anything is traced."""

from __future__ import annotations

import pytest

from tests.unit.prestage.sources import function
from triptych.prestage.rewrite import rewrite

METHODS = {
    "def f(self):\n    self.a = 1\n    self.b += self.a\n    self.c: int = 3\n    return self": ["a", "b", "c"],
    "def f(self):\n    if self.a:\n        self.b = 1\n    self.c = 2": ["c"],
    "def f(self):\n    if self.a:\n        return\n    self.b = 1": [],
    "def f(self):\n    for i in range(3):\n        self.b = i": [],
    "def f(self):\n    self.a: int\n    self.b.c = 1\n    self.d[0] = 1": [],
    "def f(self, other):\n    other.a = 1\n    self = other\n    self.b = 1": [],
    "def f():\n    pass": [],
}


@pytest.mark.parametrize("text", METHODS)
def test_attributes_that_every_call_assigns(text: str) -> None:
    with function(text) as method:
        assigns = rewrite(method).assigns
        assert [name for name, _ in assigns] == METHODS[text]
        assert all(span.text().strip().startswith(f"self.{name}") for name, span in assigns)


LOOPS = {
    "for i in range(n):\n        s.step()\n        t = s.next(i)\n        s.step()": "calls=((s, 'step'), (s, 'next'))",
    "while n > 0:\n        n = s.step()": "calls=((s, 'step'),)",
    "while n > 0:\n        n = s.step() + 1": None,
    "for i in range(n):\n        if i:\n            s.step()": None,
    "for i in range(n):\n        if i:\n            break\n        s.step()": None,
    "for s in range(n):\n        s.step()": None,
    "for i in range(n):\n        i.step()\n        print.step()": None,
}


@pytest.mark.parametrize("loop", LOOPS)
def test_methods_that_every_iteration_calls(loop: str) -> None:
    with function(f"def f(s, n):\n    {loop}\n    return n") as program:
        text = rewrite(program).text
    expected = LOOPS[loop]
    assert ("calls=" in text) == (expected is not None)
    assert expected is None or f", {expected})" in text
