"""What the pre-stage refuses: at its own line and column, with what to write instead."""

from __future__ import annotations

import pytest

from tests.unit.prestage.sources import function
from triptych.prestage.refuse import UnsupportedSyntaxError
from triptych.prestage.rewrite import rewrite

REFUSED = [
    ("try", "try:\n        n = 1\n    except ValueError:\n        n = 2", "try:", "`try` statement"),
    ("try star", "try:\n        n = 1\n    except* ValueError:\n        n = 2", "try:", "`try` statement"),
    ("try finally", "try:\n        n = 1\n    finally:\n        n = 2", "try:", "`try` statement"),
    ("global", "global x\n    x = n", "global x", "`global` declaration"),
    ("yield", "n = 1 + (yield n)", "yield n", "`yield`"),
    ("yield from", "yield from n", "yield from n", "`yield from`"),
    ("async def", "async def g():\n        pass", "async def", "`async def`"),
    ("nested yield", "def g():\n        if n:\n            yield 1", "yield 1", "`yield`"),
    ("nested nonlocal", "def g():\n        nonlocal n\n        n = 1", "nonlocal n", "`nonlocal` declaration"),
    ("in a lambda", "g = lambda: (yield)", "yield", "`yield`"),
    ("in a comprehension", "n = [eval('m') for _ in n]", "eval('m')", "`eval()`"),
    ("in a default", "def g(k=exec('')):\n        pass", "exec('')", "`exec()`"),
    ("locals", "n = locals()", "locals()", "`locals()`"),
    ("vars", "return vars()", "vars()", "`vars()`"),
    ("eval", "return 1 + eval('n')", "eval('n')", "`eval()`"),
    ("exec", "exec('n = 1')", "exec('n = 1')", "`exec()`"),
    ("reserved name", "_tt = n", "_tt", "the name `_tt`"),
    ("reserved prefix", "_tt_value = n", "_tt_value", "the name `_tt_value`"),
    ("reserved read", "return n + _tt_break_1", "_tt_break_1", "the name `_tt_break_1`"),
    ("reserved parameter", "def g(_tt_x):\n        pass", "_tt_x", "the name `_tt_x`"),
    ("walrus in a lazy operand of a lambda", "return lambda: n and (m := 1)", "m := 1", "`:=` in a conditionally"),
    ("walrus in a lazy operand of a comprehension", "return [i or (m := i) for i in n]", "m := i", "`:=` in a"),
    ("the first of several", "n = [(yield 1),\n        (yield 2)]", "yield 1", "`yield`"),
]


@pytest.mark.parametrize(("body", "construct", "found"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_at_its_place(body: str, construct: str, found: str) -> None:
    text = f"# above\ndef f(n):\n    {body}\n"
    with function(text) as original, pytest.raises(UnsupportedSyntaxError) as raised:
        rewrite(original)
    span, before = raised.value.span, text[: text.index(construct)]
    assert span is not None
    assert span.file == original.__code__.co_filename
    assert (span.line, span.column) == (before.count("\n") + 1, len(before) - before.rfind("\n") - 1)
    assert raised.value.found.startswith(found)
    assert raised.value.instead
    assert isinstance(raised.value, NotImplementedError)


ASYNCHRONOUS = ["[i async for i in n]", "await n"]


@pytest.mark.parametrize("expression", ASYNCHRONOUS)
def test_asynchronous_code_is_refused_wherever_it_hides(expression: str) -> None:
    text = f"def f(n):\n    async def g():\n        return {expression}\n"
    with function(text) as original, pytest.raises(UnsupportedSyntaxError, match="`async def`"):
        rewrite(original)


def test_an_asynchronous_generator_in_a_plain_function() -> None:
    """The one asynchronous thing that Python allows in a plain `def`."""
    text = "def f(n):\n    return (i async for i in n)\n"
    with function(text) as original, pytest.raises(UnsupportedSyntaxError) as raised:
        rewrite(original)
    assert raised.value.found == "asynchronous comprehension"
    assert raised.value.span is not None
    assert (raised.value.span.line, raised.value.span.column) == (2, 29)


ALLOWED = [
    "class Local:\n        def g(self):\n            yield\n            global x",
    "return vars(n)",
    "return n.eval, n.locals",
    "_ttx = 1",
    "tt_x = __tt = 1",
]


@pytest.mark.parametrize("body", ALLOWED)
def test_not_refused(body: str) -> None:
    with function(f"def f(n):\n    {body}\n") as original:
        assert rewrite(original).text.startswith("def f(n):")
