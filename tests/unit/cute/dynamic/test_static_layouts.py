"""Static layouts as compile-time values: Constexpr arguments, dictionary keys, part of the cache key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import triptych
import triptych as tt
from triptych.cute import realize, traced_int
from triptych.fingerprint.primitive_tokens import digest
from triptych.fingerprint.tokens import token
from triptych.layout import ComposedLayout, E, Layout, Swizzle, crd2idx, make_layout

ROWS, COLUMNS = Layout((4, 8), (8, 1)), Layout((4, 8), (1, 4))
NAMES = {ROWS: 1, COLUMNS: 2}


@tt.jit
def index(layout: tt.Constexpr[Any], i: tt.Int32, j: tt.Int32) -> Any:
    return realize(crd2idx((traced_int(i), traced_int(j)), layout))


@tt.jit
def name(layout: tt.Constexpr[Any], n: tt.Int32) -> Any:
    return n + NAMES[layout]


def test_a_layout_is_a_compile_time_argument() -> None:
    for layout in (ROWS, COLUMNS, ComposedLayout(Swizzle(2, 0, 3), 0, ROWS)):
        assert [index(layout, i, 5) for i in range(4)] == [layout((i, 5)) for i in range(4)]


def test_a_layout_is_a_dictionary_key_in_compiled_code() -> None:
    assert (name(ROWS, 10), name(make_layout((4, 8)), 10)) == (11, 12)


@pytest.mark.parametrize(
    "layout",
    [
        Layout((4, 8), (8, 2)),
        Layout((8, 4), (8, 1)),
        Layout((4, (8,)), (8, (1,))),
        Layout((4, 8), (E(0), E(1))),
        ComposedLayout(Swizzle(2, 0, 3), 0, ROWS),
    ],
    ids=str,
)
def test_the_cache_key_tells_layouts_apart(layout: Any) -> None:
    jitted: Any = index
    assert digest(token(layout)) != digest(token(ROWS))
    assert jitted.explain_key(layout, 1, 1) != jitted.explain_key(ROWS, 1, 1)


def test_the_cache_key_of_equal_layouts_is_equal() -> None:
    jitted: Any = index
    assert jitted.explain_key(ROWS, 1, 1) == jitted.explain_key(make_layout((4, 8), stride=(8, 1)), 1, 1)


def test_the_token_of_a_layout_is_the_same_in_another_process() -> None:
    program = (
        "from triptych.layout import Layout; from triptych.fingerprint.primitive_tokens import digest;"
        "from triptych.fingerprint.tokens import token; print(digest(token(Layout((4, 8), (8, 1)))))"
    )
    source = str(Path(triptych.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": "7"}
    printed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == str(digest(token(ROWS)))
