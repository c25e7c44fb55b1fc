"""Keys made of what a function's keys have in common are those that are made from scratch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from triptych.fingerprint.cache_key import key_base
from triptych.metastage.calls.repeatability import LOWERINGS

SHARED = [1, 2]
ALSO = {"the same": SHARED}
SCALE = 3

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(st.integers(), max_size=3),
    max_leaves=6,
)


def reads_much(n: Any, m: Any) -> Any:
    return n * SCALE + len(SHARED) + len(ALSO) + m


READS_MUCH: Any = reads_much
OTHERS: dict[str, Any] = {"options": {"opt_level": 3}, "toolchain": {"tool": "1"}, "target": "cpu"}


@given(PLAIN, PLAIN, PLAIN)
def test_a_plain_specialization_of_a_known_function(n: Any, m: Any, signature: Any) -> None:
    base, _ = key_base(READS_MUCH, constexprs={"n": 1, "m": "x"}, signature=("a", 1), **OTHERS)
    for _ in range(2):
        quick = base.key({"n": n, "m": m}, signature)
        _, slow = key_base(READS_MUCH, constexprs={"n": n, "m": m}, signature=signature, **OTHERS)
        assert quick is not None
        assert (quick.digest, quick.ingredients, quick.portable) == (slow.digest, slow.ingredients, slow.portable)


@pytest.mark.parametrize("value", [[1], {"a": 1}, reads_much, tt.Int32, object(), (1, [2])])
def test_values_that_are_read_are_read_each_time(value: Any) -> None:
    base, _ = key_base(READS_MUCH, constexprs={"n": 1, "m": 1}, signature=(), **OTHERS)
    assert base.key({"n": value, "m": 1}, ()) is None
    assert base.key({"n": 1, "m": 1}, value) is None


@tt.jit
def scaled(n: tt.Int32, by: tt.Constexpr[Any]) -> Any:
    return n * by * SCALE


def test_what_a_function_reads_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever changes between two specializations is in the key of the second."""
    keys = [scaled.explain_key(1, by).digest for by in (1, 2)]
    assert keys == [scaled.explain_key(1, by).digest for by in (1, 2)]
    monkeypatch.setitem(globals(), "SCALE", 4)
    changed = [scaled.explain_key(1, by).digest for by in (1, 2)]
    monkeypatch.setitem(LOWERINGS, "an instruction", len)
    meant = [scaled.explain_key(1, by).digest for by in (1, 2)]
    scaled.set_name_prefix("other")
    named = [scaled.explain_key(1, by).digest for by in (1, 2)]
    scaled.set_name_prefix("")
    assert len({*keys, *changed, *meant, *named}) == 8
