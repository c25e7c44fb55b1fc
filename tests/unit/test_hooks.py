"""`PythonHooks`: CPython's own meaning of every hook, asked directly."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from triptych.hooks import AUGMENTED, COMPARISONS, DEAD, UNDEFINED, Hooks, Place, PythonHooks, ignore_values, no_values

hooks = PythonHooks()


def noted(log: list[object], value: object) -> Callable[[], Any]:
    def thunk() -> Any:
        log.append(value)
        return value

    return thunk


def test_every_hook_of_the_protocol_has_the_same_signature() -> None:
    for name, declared in vars(Hooks).items():
        if inspect.isfunction(declared) and not name.startswith("_"):
            given = [(p.name, p.kind) for p in inspect.signature(getattr(PythonHooks, name)).parameters.values()]
            assert given == [(p.name, p.kind) for p in inspect.signature(declared).parameters.values()], name


@pytest.mark.parametrize("test", [True, False, 1, 0, "", [0]])
def test_if_runs_one_side(test: object) -> None:
    log: list[object] = []
    hooks.if_(test, noted(log, "then"), noted(log, "else"))
    assert log == ["then" if test else "else"]
    assert hooks.choose(test, noted(log, "then"), noted(log, "else")) == log[0]
    assert len(log) == 2


def test_for_stops_at_an_exit() -> None:
    state: dict[str, Any] = {"done": False, "other": False}
    seen: list[int] = []

    def body(item: int) -> None:
        seen.append(item)
        state["done"] = item == 2

    hooks.for_(range(5), body, ("done",), ("other", "done"), lambda: (state["other"], state["done"]))
    assert seen == [0, 1, 2]
    hooks.for_(range(2), seen.append, ())
    assert seen == [0, 1, 2, 0, 1]


@pytest.mark.parametrize(("test", "exits", "runs"), [(True, ("done",), 3), (False, (), 0), (None, (), 5)])
def test_while_takes_a_constant_or_a_closure(test: bool | None, exits: tuple[str, ...], runs: int) -> None:
    count = 0

    def body() -> None:
        nonlocal count
        count += 1

    hooks.while_((lambda: count < 5) if test is None else test, body, exits, ("done",), lambda: (count >= 3,))
    assert count == runs


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_guard_runs_the_rest_only_if_no_exit_was_taken(flags: tuple[bool, bool]) -> None:
    log: list[object] = []
    hooks.guard(("a", "b"), (), noted(log, "rest"), ("a", "b"), lambda: flags)
    assert log == ([] if any(flags) else ["rest"])


@pytest.mark.parametrize("values", [(0, 1), (1, 0), (1, 2, 3), (0, "", []), ("", 0, 1, 2), (1, 0, 2)])
def test_and_and_or_stop_and_return_an_operand(values: tuple[object, ...]) -> None:
    for hook, stops in ((hooks.and_, operator.not_), (hooks.or_, operator.truth)):
        log: list[object] = []
        found = hook(tuple(noted(log, value) for value in values))
        last = next((index for index, value in enumerate(values) if stops(value)), len(values) - 1)
        assert found is values[last]
        assert log == list(values[: last + 1])


def test_compare_stops_at_the_first_that_fails() -> None:
    log: list[object] = []
    assert hooks.compare(1, ("<", "<", "<"), (noted(log, 5), noted(log, 3), noted(log, 9))) is False
    assert log == [5, 3]


@pytest.mark.parametrize("symbol", COMPARISONS)
def test_comparisons_are_pythons(symbol: str) -> None:
    for left in (0, 1, 2):
        right: Any = (1, 2) if symbol.endswith("in") else 1
        assert COMPARISONS[symbol](left, right) is eval(f"left {symbol} right", {"left": left, "right": right})


@pytest.mark.parametrize("symbol", [symbol for symbol in AUGMENTED if symbol != "@"])
def test_augmented_operators_are_pythons(symbol: str) -> None:
    namespace = {"x": 13}
    exec(f"x {symbol}= 5", namespace)
    assert hooks.augment(symbol, 13, 5) == namespace["x"]


def test_augmenting_a_list_changes_it_in_place() -> None:
    items = [1]
    assert hooks.augment("+", items, [2]) is items == [1, 2]


def test_places() -> None:
    class Box:
        pass

    box, items = Box(), [1, 2, 3]
    hooks.setattr(box, "x", 1)
    assert vars(box) == {"x": 1}
    hooks.delattr(box, "x")
    assert vars(box) == {}
    hooks.setitem(items, 0, 9)
    hooks.delitem(items, hooks.slice(1, 2))
    assert items == [9, 3]
    assert hooks.getitem(items, -1) == 3
    assert hooks.fresh(items) is items


def test_calls_pass_everything_on() -> None:
    assert hooks.call(lambda *args, **kwargs: (args, kwargs), 1, 2, function=3, self=4) == (
        (1, 2),
        {"function": 3, "self": 4},
    )


@pytest.mark.parametrize("hook", [hooks.result, hooks.known, hooks.match_subject])
def test_values_pass_unchanged(hook: Callable[[object], object]) -> None:
    value = object()
    assert hook(value) is value


def test_annotations_are_not_evaluated() -> None:
    assert hooks.annotate(1, lambda: 1 / 0, "x") == 1


def test_load_of_what_is_not_assigned() -> None:
    assert hooks.load(0, "x") == 0
    with pytest.raises(UnboundLocalError, match="'x'"):
        hooks.load(UNDEFINED, "x")


def test_assertions() -> None:
    log: list[object] = []
    check = hooks.assert_
    check(1, noted(log, "unused"))
    assert log == []
    with pytest.raises(AssertionError) as said:
        check(0, noted(log, "said"))
    with pytest.raises(AssertionError) as silent:
        check(0)
    assert (said.value.args, silent.value.args) == (("said",), ())


def test_raising_lets_python_raise() -> None:
    hooks.raising()


def test_markers_say_what_they_are() -> None:
    assert (repr(UNDEFINED), repr(DEAD)) == ("<undefined>", "<dead>")
    with pytest.raises(UnboundLocalError):
        bool(UNDEFINED)


def test_constructs_without_variables_need_no_access_to_them() -> None:
    assert no_values() == ()
    ignore_values(())


def test_a_place_is_an_attribute_with_a_name() -> None:
    owner = SimpleNamespace(x=1)
    place = Place("p", "x", owner)
    place.value = place.value + 1
    assert (place, owner.x) == ("p.x", 2)


def test_a_place_without_an_owner_stays_as_it_is() -> None:
    place = hooks.place(SimpleNamespace(x=1), "x", "p")
    place.value = 5
    assert (place, place.value) == ("p.x", None)
