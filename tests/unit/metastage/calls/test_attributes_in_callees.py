"""Attributes that functions and methods change, called from run-time loops and branches: as in Python, or refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import triptych as tt
from triptych.metastage.control_flow.loops import Carried
from triptych.metastage.trace.errors import (
    CarriedTypeError,
    DynamicMutationError,
    JoinTypeError,
    LeakedValueError,
    StaticRequiredError,
)
from triptych.metastage.trace.trace import Region


@dataclass
class Counter:
    """Two numbers and what changes them."""

    count: Any
    total: Any = 0

    def add(self, k: Any) -> None:
        self.count += k
        self.total += self.count

    def more(self, most: Any) -> Any:
        self.count += 1
        return self.count < most


class Fused:
    """A class that is assigned by a function of its own."""

    def __init__(self) -> None:
        object.__setattr__(self, "x", 0)

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Frozen:
    """What Python does not change either."""

    x: Any = 0


class Late:
    """An attribute that only the class has."""

    x = 0


AS_COUNTED = (-1, 0, 1, 2, 5)


def advance(p: Any) -> None:
    p.x += 1


def in_a_callee(n: Any) -> Any:
    p = SimpleNamespace(x=0)
    for _ in range(n):
        advance(p)
    return p.x


def count(p: Any, n: Any) -> None:
    for i in range(n):
        p.x += i


def in_a_loop_of_the_callee(n: Any) -> Any:
    p = SimpleNamespace(x=0)
    for i in range(n):
        if i > 0:
            count(p, i)
    return p.x


def in_the_test_of_a_while(n: Any) -> Any:
    c = Counter(0)
    while c.more(n):
        c.total += 2
    return c.count, c.total


def read_as_a_number_of_python_before(n: Any) -> Any:
    """The loop reads what the attribute was known to be before it turns out to change."""
    c = Counter(1)
    seen = 0
    for _ in range(n):
        seen = seen * 3 + (10 if c.count == 1 else c.count)
        c.add(2)
    return seen, c.total


def two_of_a_kind(n: Any) -> Any:
    cs = [Counter(0), Counter(5)]
    for i in range(n):
        cs[0].add(i)
        if i > 1:
            cs[1].add(cs[0].count)
    return cs[0].count, cs[0].total, cs[1].count, cs[1].total


def made_in_the_loop(n: Any) -> Any:
    out = Counter(0)
    for i in range(n):
        own = Counter(i)
        for j in range(3):
            own.add(j)
        out.add(own.total)
    return out.count, out.total


def met_and_changed_before(n: Any) -> Any:
    p, r = Counter(n), Counter(7)
    if n > 1:
        p.add(1)
    q = p if n > 2 else r
    return q.count, q.total


def made_by_both_sides_and_changed_after(n: Any) -> Any:
    c = Counter(n) if n > 1 else Counter(3, 4)
    for i in range(n):
        c.add(i)
    c.count = c.count + 1
    return c.count, c.total


def met_and_forgotten_in_each_iteration(n: Any) -> Any:
    p, r, seen = Counter(0), Counter(9), 0
    for i in range(n):
        p.add(1)
        q = p if i > 1 else r
        seen += q.count
    return seen


AS_IN_PYTHON = [
    met_and_forgotten_in_each_iteration,
    in_a_callee,
    in_a_loop_of_the_callee,
    in_the_test_of_a_while,
    read_as_a_number_of_python_before,
    two_of_a_kind,
    made_in_the_loop,
    met_and_changed_before,
    made_by_both_sides_and_changed_after,
]


@pytest.mark.parametrize("program", AS_IN_PYTHON, ids=lambda program: program.__name__)
def test_as_in_python(program: Callable[[int], Any]) -> None:
    compiled = tt.compile(program, 1)
    for n in AS_COUNTED:
        assert compiled(n) == program(n), n


# refused ----------------------------------------------------------------------------------------------------------
def chosen_and_changed(n: Any) -> Any:
    p, r = Counter(0), Counter(1)
    q = p if n > 0 else r
    q.count = 7
    return p.count


def chosen_and_the_other_changed(n: Any) -> Any:
    p, r = Counter(0), Counter(1)
    q = p if n > 0 else r
    p.add(7)
    return q.count


def replaced_in_a_loop_and_the_first_changed(n: Any) -> Any:
    p = Counter(0)
    q = p
    for i in range(n):
        q = Counter(i)
    p.count = 9
    return q.count


def changed_and_chosen_in_a_loop(n: Any) -> Any:
    p, r = Counter(0), Counter(1)
    q, seen = r, 0
    for i in range(n):
        p.add(1)
        seen += q.count
        q = p if i > 1 else r
    return seen


def changed_and_chosen_on_one_side(n: Any) -> Any:
    p, q = Counter(0), Counter(1)
    if n > 0:
        p.add(5)
        q = p
    return q.count


def copy_of_a_copy_handed_on(n: Any) -> Any:
    p, r = Counter(0), Counter(1)
    q, seen = r, 0
    for i in range(n):
        p.add(1)
        seen += q.count
        one = p if i > 1 else r
        q = one if i > 2 else r
    return seen


def started_with_what_it_changes(n: Any) -> Any:
    p = Counter(0)
    q, seen = p, 0
    for i in range(n):
        p.add(1)
        seen += q.count
        if i > 2:
            q = Counter(5)
    return seen


def chosen_within_an_attribute(n: Any) -> Any:
    s, r = Counter(0), Counter(1)
    h = SimpleNamespace(state=s)
    if n > 0:
        h.state = r
    h.state.count = 5
    return s.count


def created_in_the_loop(n: Any) -> Any:
    p = SimpleNamespace()
    for i in range(n):
        p.x = i
    return n


def of_the_class(n: Any) -> Any:
    p = Late()
    for _ in range(n):
        advance(p)
    return p.x


def by_a_setter_without_source(n: Any) -> Any:
    p = Fused()
    for _ in range(n):
        advance(p)
    return n


def of_a_frozen_dataclass(n: Any) -> Any:
    p = Frozen()
    for _ in range(n):
        advance(p)
    return p.x


def by_its_dictionary(n: Any) -> Any:
    p = SimpleNamespace(x=0)
    for _ in range(n):
        vars(p)["x"] = 1
    return p.x


def deleted(n: Any) -> Any:
    p = SimpleNamespace(x=0)
    for _ in range(n):
        del p.x
    return n


CHANGES = [
    chosen_and_changed,
    chosen_and_the_other_changed,
    replaced_in_a_loop_and_the_first_changed,
    changed_and_chosen_in_a_loop,
    changed_and_chosen_on_one_side,
    copy_of_a_copy_handed_on,
    started_with_what_it_changes,
    chosen_within_an_attribute,
    created_in_the_loop,
    of_the_class,
    by_a_setter_without_source,
    by_its_dictionary,
    deleted,
]


@pytest.mark.parametrize("program", CHANGES, ids=lambda program: program.__name__)
def test_refused(program: Callable[[int], Any]) -> None:
    with pytest.raises(DynamicMutationError):
        tt.compile(program, 1)


def test_frozen_dataclass_is_what_it_is_in_python() -> None:
    with pytest.raises(FrozenInstanceError):
        tt.compile(of_a_frozen_dataclass, 1)


def become(p: Any, value: object) -> None:
    p.x = value


def test_type_that_changes_is_an_error_at_the_assignment() -> None:
    def program(n: Any) -> Any:
        p = SimpleNamespace(x=0)
        for _ in range(n):
            become(p, 0.5)
        return n

    with pytest.raises(CarriedTypeError, match=r"SimpleNamespace\.x") as caught:
        tt.compile(program, 1)
    assert caught.value.span is not None
    assert caught.value.span.function == "become"


def test_types_of_two_sides_are_an_error_with_the_attribute() -> None:
    def program(n: Any) -> Any:
        p = SimpleNamespace(x=0)
        if n > 0:
            become(p, "text")
        return n

    with pytest.raises(JoinTypeError, match=r"SimpleNamespace\.x"):
        tt.compile(program, 1)


def test_attribute_that_changes_is_no_number_of_python_in_the_loop() -> None:
    def program(n: Any) -> Any:
        p = SimpleNamespace(x=1, tile=4)
        total = 0
        for _ in range(n):
            for _ in tt.range_constexpr(p.tile):
                total += 1
            if tt.const_expr(p.x == 1):
                advance(p)
        return total

    with pytest.raises(StaticRequiredError):
        tt.compile(program, 1)


# what tracing a loop again must not do twice ----------------------------------------------------------------------
def test_what_a_loop_prints_while_tracing_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    def program(n: Any) -> Any:
        p = SimpleNamespace(x=0, y=0)
        print("before")
        for _ in range(n):
            print("loop", end="!\n")
            for _ in range(n):
                print("inner")
                advance(p)
            p.y = p.x
        print("after")
        return p.x

    assert tt.compile(program, 1)(3) == 9
    assert capsys.readouterr().out == "before\nloop!\ninner\nafter\n"


def test_what_is_meant_once_keeps_a_loop_from_being_traced_again() -> None:
    done: list[str] = []

    def program(n: Any) -> Any:
        p = SimpleNamespace(x=0)
        for _ in range(n):
            tt.at_trace_time(done.append, "once")
            advance(p)
        return p.x

    with pytest.raises(DynamicMutationError, match="once"):
        tt.compile(program, 1)
    assert done == ["once"]


def test_loops_in_loops_are_not_traced_again_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attribute costs each of the loops around it one more trace, not one for each trace of the others."""
    traces = 0
    enter = Carried.enter

    def counted(carried: Carried, region: Region) -> Any:
        nonlocal traces
        traces += 1
        return enter(carried, region)

    def change(p: Any) -> None:
        p.a += 1
        p.b += p.a
        p.c += p.b

    def program(n: Any) -> Any:
        p = SimpleNamespace(a=0, b=0, c=0)
        for _ in range(n):
            for _ in range(n):
                for _ in range(n):
                    change(p)
        return p.a, p.b, p.c

    monkeypatch.setattr(Carried, "enter", counted)
    compiled = tt.compile(program, 1)
    assert [compiled(n) for n in (0, 1, 2)] == [program(n) for n in (0, 1, 2)]
    assert traces == 3 * 4


# objects from outside ---------------------------------------------------------------------------------------------
class Style:
    """A class whose method is the program."""

    def __init__(self) -> None:
        self.phase = 0
        self.untouched = 0

    @tt.jit
    def run(self, n: tt.Int32) -> Any:
        self.phase = 1
        for _ in range(n):
            self.flip()
        return self.phase

    def flip(self) -> None:
        self.phase = 1 - self.phase

    @tt.jit
    def touch(self, n: tt.Int32) -> Any:
        for i in range(n):
            self.untouched = i
        return n


def test_attribute_of_self_that_the_method_has_assigned() -> None:
    style = Style()
    assert [style.run(n) for n in (0, 1, 2, 5)] == [1, 0, 1, 0]
    with pytest.raises(LeakedValueError):
        style.phase + 1


def test_attribute_of_self_that_only_a_loop_assigns_is_refused() -> None:
    with pytest.raises(DynamicMutationError):
        Style().touch(3)


class Counted:
    def __init__(self) -> None:
        self.total = 1

    def __hash__(self) -> int:
        self.total += 1
        return 1


@tt.jit
def hashed_where_it_is_made(n: tt.Int32) -> int:
    found = 0
    if n > 0:
        counted = Counted()
        names = {counted: "it"}
        found = counted.total + len(names)
    return found


def test_a_hash_that_changes_its_object_is_refused() -> None:
    """Python calls it again."""
    with pytest.raises(tt.TriptychError, match=r"TT0205.*__hash__"):
        hashed_where_it_is_made(2)
