"""Flow analysis on small functions: what is live where, what may be undefined where, which reads are unsure.

Statements are named by the line they start at, counted from the `def`.
"""

from __future__ import annotations

import ast
import symtable
import textwrap

import pytest

from triptych.prestage.flow import Flow


class Analysed:
    """A function's flow, asked by line."""

    def __init__(self, text: str) -> None:
        tree = ast.parse(textwrap.dedent(text).strip())
        function = tree.body[0]
        assert isinstance(function, ast.FunctionDef)
        self.flow = Flow(function)
        statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
        self.at = {node.lineno: node for node in statements}

    def live_after(self, line: int) -> set[str]:
        return self.flow.live_after(self.at[line])

    def undefined(self, line: int) -> set[str]:
        return self.flow.before[self.at[line]].undefined

    def reachable(self, line: int) -> bool:
        return self.flow.before[self.at[line]].reachable

    def unsure(self) -> set[tuple[str, int]]:
        return {(node.id, node.lineno) for node in self.flow.unsure if isinstance(node, ast.Name)}


def test_a_variable_is_live_until_its_last_read() -> None:
    flow = Analysed(
        """
        def f(a, b):
            x = a
            y = x + b
            x = 1
            return y
        """
    )
    assert flow.live_after(2) == {"x", "b"}
    assert flow.live_after(3) == {"y"}
    assert flow.live_after(4) == {"y"}
    assert flow.live_after(5) == set()


def test_what_one_branch_reads_is_live_before_both() -> None:
    flow = Analysed(
        """
        def f(n, a, b):
            if n:
                x = a
            else:
                x = b
            return x
        """
    )
    branch = flow.at[2]
    assert isinstance(branch, ast.If)
    assert flow.flow.before[branch].live == {"n", "a", "b"}
    assert flow.flow.live_in_sides(branch) == {"a", "b"}
    assert flow.live_after(3) == flow.live_after(5) == {"x"}


def test_what_the_next_iteration_reads_is_live_at_the_head() -> None:
    flow = Analysed(
        """
        def f(n):
            a = b = 0
            for i in range(n):
                c = a
                a = c + 1
            return b
        """
    )
    loop = flow.at[3]
    assert flow.flow.live_at_head(loop) == {"a", "b"}
    assert flow.live_after(3) == {"b"}
    assert flow.live_after(4) == {"c", "b"}
    assert flow.flow.live_around(loop) >= {"a", "b"}


def test_while_reads_its_test_at_the_head() -> None:
    flow = Analysed("def f(n, m):\n    while n < m:\n        n += 1\n    return n")
    assert flow.flow.live_at_head(flow.at[2]) == {"n", "m"}


def test_captured_variables_are_always_live() -> None:
    flow = Analysed(
        """
        def f(n):
            x = 1
            def g(y=n):
                return x + y
            x = 2
            return g
        """
    )
    assert flow.flow.captured == {"x"}
    assert "x" in flow.live_after(5)


@pytest.mark.parametrize(
    ("expression", "captured"),
    [
        ("lambda: x", {"x"}),
        ("lambda x: x", set()),
        ("lambda y=x: y", set()),
        ("[lambda: x for x in n]", set()),
        ("[lambda: y for x in n]", {"y"}),
        ("(x for _ in n)", {"x"}),
        ("(x for x in y)", set()),
        ("sum(x for _ in n)", set()),
        ("[x for _ in n]", set()),
    ],
)
def test_what_nested_scopes_capture(expression: str, captured: set[str]) -> None:
    assert Analysed(f"def f(n, x, y):\n    return {expression}").flow.captured >= captured
    assert Analysed(f"def f(n, x, y):\n    return {expression}").flow.captured - {"x"} <= captured


def test_undefined_on_one_path() -> None:
    flow = Analysed(
        """
        def f(n):
            if n:
                x = 1
            y = 2
            return x + y
        """
    )
    assert flow.undefined(2) == {"x", "y"}
    assert flow.undefined(4) == {"x", "y"}
    assert flow.undefined(5) == {"x"}
    assert flow.unsure() == {("x", 5)}


def test_defined_on_every_path_that_arrives() -> None:
    flow = Analysed(
        """
        def f(n):
            if n > 0:
                x = 1
            elif n < 0:
                raise ValueError
            else:
                return 0
            return x
        """
    )
    assert flow.undefined(8) == set()
    assert flow.unsure() == set()


@pytest.mark.parametrize(
    ("loop", "unsure"),
    [
        ("for i in n:\n        x = i", True),
        ("while n:\n        x = n", True),
        ("while True:\n        x = n\n        break", False),
        ("while True:\n        if n:\n            break\n        x = n", True),
        ("for i in n:\n        x = i\n    else:\n        x = 0", False),
        ("for i in n:\n        break\n    else:\n        x = 0", True),
        ("with n as x:\n        pass", False),
        ("match n:\n        case 1 as x:\n            pass", True),
        ("match n:\n        case [*x] | {**x}:\n            pass", True),
        ("match n:\n        case [*x] | {**x}:\n            pass\n        case x:\n            pass", True),
        ("n and (x := 1)", True),
        ("(x := n) and n", False),
        ("0 < n < (x := 3)", True),
        ("0 < (x := n) < 3", False),
        ("n if (x := n) else 2", False),
        ("(x := 1) if n else 2", True),
        ("(x := 1) if n else (x := 2)", False),
        ("[x := i for i in n]", True),
        ("import x", False),
        ("import x.y", False),
        ("from y import z as x", False),
        ("class x: pass", False),
        ("def x(): pass", False),
        ("x: int = 1", False),
        ("x: int", True),
        ("x = 1\n    del x", True),
        ("x = y = 0\n    if n:\n        del x, y\n        x = y = 1", False),
        ("(x, *_), y = n", False),
    ],
)
def test_whether_a_later_read_is_unsure(loop: str, unsure: bool) -> None:
    flow = Analysed(f"def f(n):\n    {loop}\n    return x")
    assert bool({name for name, _ in flow.unsure()} & {"x"}) is unsure


@pytest.mark.parametrize(
    ("condition", "sure"),
    [
        ("n and (x := 1)", True),
        ("n or (x := 1)", False),
        ("not (n or (x := 1))", True),
        ("not (n and (x := 1))", False),
        ("not not (n and (x := 1))", True),
        ("0 < n < (x := 3)", True),
        ("(n and (x := 1)) and n", True),
        ("(n and (x := 1)) or n", False),
    ],
)
def test_a_condition_that_holds_has_evaluated_its_operands(condition: str, sure: bool) -> None:
    flow = Analysed(f"def f(n):\n    if {condition}:\n        return x\n    return n")
    assert (flow.unsure() == set()) is sure
    loop = Analysed(f"def f(n):\n    while {condition}:\n        return x\n    return n")
    assert (loop.unsure() == set()) is sure


def test_a_condition_that_fails_has_evaluated_its_operands() -> None:
    flow = Analysed("def f(n):\n    if n or (x := 0):\n        return n\n    return x")
    assert flow.unsure() == set()


@pytest.mark.parametrize(
    ("text", "line", "reachable"),
    [
        ("def f(n):\n    return n\n    n = 1", 3, False),
        ("def f(n):\n    while True:\n        pass\n    n = 1", 4, False),
        ("def f(n):\n    while 1:\n        if n:\n            break\n    n = 1", 5, True),
        ("def f(n):\n    if n:\n        return 1\n    else:\n        return 2\n    n = 1", 6, False),
        ("def f(n):\n    for i in n:\n        continue\n        n = 1", 4, False),
        ("def f(n):\n    raise n\n    n = 1", 3, False),
        ("def f(n):\n    while False:\n        pass\n    n = 1", 4, True),
    ],
)
def test_what_can_be_reached(text: str, line: int, reachable: bool) -> None:
    assert Analysed(text).reachable(line) is reachable


def test_falling_through() -> None:
    flow = Analysed("def f(n):\n    if n:\n        return 1\n    for i in n:\n        break")
    assert flow.flow.falls_through(flow.at[2])
    assert not flow.flow.falls_through(flow.at[3])
    assert not flow.flow.falls_through(flow.at[5])
    assert flow.flow.falls_through(flow.at[4])


def test_reads_in_a_nested_scope_are_unsure_where_it_is_defined() -> None:
    unsure = Analysed("def f(n):\n    if n:\n        x = 1\n    return lambda: x")
    assert unsure.unsure() == {("x", 4)}
    deleted = Analysed("def f(n):\n    x = 1\n    g = lambda: x\n    del x\n    return g")
    assert deleted.unsure() == {("x", 3)}


def test_locals_are_what_python_calls_locals() -> None:
    text = """
    def f(a, /, b, *c, d=1, **e):
        g = [h for h in a]
        for i, (j, *k) in b:
            with c as m:
                import n.o, p as q
        def r(s):
            t = 1
        class U:
            v = 1
        w: int
        w
        (lambda x: (y := x))
        z = [(aa := bb) for bb in a]
        match a:
            case [cc, *dd]:
                pass
            case {"k": ee, **ff}:
                pass
            case str() as gg:
                pass
        del hh
        ii.jj = kk[ll] = 1
        mm += 1
    """
    [table] = symtable.symtable(textwrap.dedent(text), "f", "exec").get_children()
    right = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_local()}
    assert Analysed(text).flow.locals == right - {"h", "bb"}  # since 3.12, comprehensions share the function's table
