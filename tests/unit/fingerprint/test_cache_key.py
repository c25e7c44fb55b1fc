from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import pytest

from tests.unit.fingerprint.programs import function_of, key_of, modules, run_in
from triptych.fingerprint.cache_key import diff, explain
from triptych.fingerprint.guards import guards, watch
from triptych.fingerprint.primitive_tokens import UnstableConstexprError
from triptych.fingerprint.tokens import token

WIDTH = 4


@dataclass(frozen=True)
class Config:
    width: int
    op: object = None


def helper(x: int) -> int:
    return x + WIDTH


def kernel(x: int, *, unroll: int = 2) -> int:
    return helper(x) * unroll


def test_a_key_shows_what_it_is_made_of() -> None:
    key = key_of(kernel, constexprs={"config": Config(3)})
    assert {
        "source",
        "position",
        "keyword defaults",
        "global helper",
        f"{__name__}.helper: source",
        f"{__name__}.helper: global WIDTH",
        "constexpr config",
        f"class {__name__}.Config",
        "signature",
        "option opt_level",
        "toolchain llvm",
        "target",
        "python",
    } <= key.ingredients.keys()
    table = explain(key)
    assert key.digest in table
    assert str(key) == table
    assert all(name in table for name in key.ingredients)


def test_diff_names_the_reason_of_a_miss() -> None:
    one = key_of(kernel, options={"opt_level": 3, "debug": False})
    other = key_of(kernel, options={"opt_level": 0, "debug": False}, target="nvptx:sm_90a")
    assert diff(one, other) == ["option opt_level", "target"]
    assert diff(one, one) == []


def test_diff_points_at_the_global_a_helper_reads() -> None:
    with modules(program="W = 1\ndef g(x): return x + W\ndef f(x): return g(x)\n") as made:
        before = key_of(function_of(made["program"]))
        run_in(made["program"], "W = 2")
        assert diff(before, key_of(function_of(made["program"]))) == ["program.g: global W"]


def test_a_constexpr_without_content_is_refused_by_name() -> None:
    with pytest.raises(UnstableConstexprError, match="constexpr lock"):
        key_of(kernel, constexprs={"lock": threading.Lock()})


def test_reading_a_lock_keeps_the_key_in_this_process() -> None:
    with modules(program="import threading\nL = threading.Lock()\ndef f(x): return L\n") as made:
        function = function_of(made["program"])
        key = key_of(function)
        assert not key.portable
        assert "this process only" in explain(key)
        assert key_of(function) == key
        assert key_of(kernel).portable
        unchanged = guards(function)
        run_in(made["program"], "L = threading.Lock()")
        assert not unchanged()
        assert key_of(function) != key


# Wrong keys that users of other kernel languages met (silent wrong results, or a cache that never hits).


def test_callable_defaults_are_content() -> None:
    def make(scale: int) -> FunctionType:
        def apply(x: int, op: Callable[[int], int] = lambda v: v * scale) -> int:
            return op(x)

        assert isinstance(apply, FunctionType)
        return apply

    assert key_of(make(2)) != key_of(make(3))
    assert key_of(make(2)) == key_of(make(2))


def test_closure_variables_are_content() -> None:
    def make(block: Any) -> FunctionType:
        def apply(x: int) -> Any:
            return x + block

        assert isinstance(apply, FunctionType)
        return apply

    keys = [key_of(make(block)).digest for block in (64, 128, 64.0, True, 1, "64")]
    assert len(set(keys)) == len(keys)
    assert key_of(make(64)) == key_of(make(64))


def test_object_addresses_are_no_content() -> None:
    class Options:
        def __init__(self, stages: int) -> None:
            self.stages = stages

    kept = [Options(2) for _ in range(20)]
    assert len({key_of(kernel, constexprs={"options": options}).digest for options in kept}) == 1
    assert key_of(kernel, constexprs={"options": Options(3)}) != key_of(kernel, constexprs={"options": kept[0]})


def test_the_history_of_the_process_is_no_content() -> None:
    before = key_of(kernel, constexprs={"config": Config(3, helper)})
    for n in range(20):
        with modules(program=f"def f(x): return x + {n}\n") as made:
            key_of(function_of(made["program"]), constexprs={"config": Config(n)})
    assert key_of(kernel, constexprs={"config": Config(3, helper)}) == before


def test_the_order_of_options_is_no_content() -> None:
    assert key_of(kernel, options={"a": 1, "b": 2}) == key_of(kernel, options={"b": 2, "a": 1})


def test_two_functions_of_one_name_are_distinguished() -> None:
    def make(n: int) -> Callable[[int], int]:
        return lambda x: x + n

    def both(first: Callable[[int], int], second: Callable[[int], int]) -> FunctionType:
        def apply(x: int) -> int:
            return first(x) - second(x)

        assert isinstance(apply, FunctionType)
        return apply

    one, two = make(1), make(2)
    digests = [key_of(both(*pair)).digest for pair in ((one, two), (two, one), (one, one), (two, two))]
    assert len(set(digests)) == 4


def test_an_object_may_say_what_its_content_is() -> None:

    class Decorated:
        def __init__(self, function: Callable[..., Any]) -> None:
            self.__wrapped__ = function
            self.table: dict[str, object] = {}

        def __cache_key__(self) -> object:
            return self.__wrapped__

    with modules(program="W = 1\ndef g(x): return x + W\ndef f(x): return h(x)\n") as made:
        program = made["program"]
        wrapper = Decorated(program.g)
        vars(program)["h"] = wrapper
        before, unchanged = key_of(program.f), guards(program.f)
        wrapper.table["compiled"] = object()
        assert unchanged()
        assert key_of(program.f) == before
        run_in(program, "W = 2")
        assert not unchanged()
        assert key_of(program.f) != before


def test_the_state_of_decorated_functions_is_no_content() -> None:
    """A decorator of the framework may keep tables, and give every function a class of its own."""

    class Decorated:
        def __init__(self, function: Callable[..., Any]) -> None:
            self.__wrapped__ = function
            self.table: dict[str, object] = {}

    Decorated.__module__ = "triptych.driver.jitting"
    with modules(program="W = 1\ndef g(x): return x + W\ndef f(x): return h(x)\n") as made:
        program = made["program"]
        vars(program)["h"] = Decorated(program.g)
        before, unchanged = key_of(program.f), guards(program.f)
        program.h.table["compiled"] = threading.Lock()
        assert unchanged()
        assert key_of(program.f) == before
        run_in(program, "W = 2")
        assert not unchanged()
        assert diff(before, key_of(program.f)) == ["program.g: global W"]


# Guards.


def test_nothing_read_is_always_unchanged() -> None:
    assert watch(1, "text", (2.0, None))() is True
    assert watch().tests == ()


def test_a_guard_is_made_of_readable_tests() -> None:
    assert any(test.startswith("'helper'") or "['helper'] is" in test for test in guards_of(kernel))


def guards_of(function: Callable[..., Any]) -> tuple[str, ...]:
    assert isinstance(function, FunctionType)
    return guards(function).tests


def test_watched_constexprs() -> None:
    tiles = [1, 2]
    unchanged = watch(Config(3, tiles))
    assert unchanged()
    tiles.append(3)
    assert not unchanged()


def test_a_guard_agrees_with_tokens_after_any_change_to_a_value() -> None:
    data: dict[str, Any] = {"a": [1, {"b": 2}], "c": {3}}
    changes: list[Callable[[], object]] = [
        lambda: data["a"].append(1),
        lambda: data["a"][1].update(b=True),
        lambda: data["c"].add(4),
        lambda: data.update(d=5),
        lambda: data.pop("d"),
        lambda: data.update(a=data.pop("a")),
    ]
    for change in changes:
        before, unchanged = token(data), watch(data)
        assert unchanged()
        change()
        assert token(data) != before
        assert not unchanged()
