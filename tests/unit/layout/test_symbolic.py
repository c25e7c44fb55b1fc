"""Symbolic integers share their parts: large values are cheap, and still values."""

from __future__ import annotations

import pickle
import time
from typing import Any

from triptych import layout
from triptych.layout import Layout, SymInt, assuming
from triptych.layout.symbolic import lower_bound

tl: Any = layout  # typed for dynamic integers too; the tests know which ones are static


def test_operations_are_picklable_values() -> None:
    quotient = tl.sym_int(symbol="m") // tl.sym_int(64, symbol="n")
    copy = pickle.loads(pickle.dumps(quotient))
    assert (copy, hash(copy), str(copy), copy.width) == (quotient, hash(quotient), "?{i64}", 64)


def test_a_negative_divisor_gives_no_lower_bound() -> None:
    assert lower_bound(tl.sym_int(symbol="m") // -2) is None


def test_values_are_as_cheap_as_what_they_share() -> None:
    """Written out, a need of this division has 17,000 characters; its parts were walked a million times once."""
    m, n, k, step, tile = (tl.sym_int(symbol=name) for name in "mnkst")
    start = time.process_time()
    with assuming() as needs:
        tl.logical_divide(Layout(((m, n, 5), (k,)), ((15, 1440, 1), (step,))), tile)
    assert time.process_time() - start < 0.25
    assert max(len(repr(need.residue)) for need in needs) > 10_000
    assert isinstance(needs[0].residue, SymInt)


def test_bits_that_are_known_above_others_that_are_not() -> None:
    """A swizzle meets such sums where shared memory begins at a multiple of less than its pattern."""
    low = tl.sym_int(symbol="m") % 128
    assert (low + 128) & 896 == 128
    assert ((low + 384) ^ 128).substitute({"m": 5}) == (5 + 384) ^ 128
