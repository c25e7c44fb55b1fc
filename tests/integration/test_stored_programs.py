"""Entries of the store that lack something: they are no programs, and what is asked for is compiled."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.driver.stored_programs import program_of
from triptych.objectstage.target import Target, find_target
from triptych.store.configured import default_store
from triptych.store.entry import Entry
from triptych.support.config import override


@tt.kernel
def scale_kernel(a: tt.Float32, x: cute.Tensor) -> None:
    part = cute.zipped_divide(x, (4,))[None, cute.arch.thread_idx()[0]]
    cute.autovec_copy(part, part)
    part[0] = a * part[0]


@tt.jit
def scale(a: tt.Float32, x: cute.Tensor) -> Any:
    scale_kernel(a, x).launch(grid=1, block=32)
    return a, (1, "text")


@pytest.fixture(params=["cpu", pytest.param("nvptx:sm_80", marks=needs_assembler)])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Target, Entry]:
    with override(cache=True, cache_dir=str(tmp_path / "store"), performance_warnings=False):
        tt.compile(scale, 2.0, vector(align=4), target=request.param)
        store = default_store()
        assert store is not None
        (listed,) = [each for each in store.entries() if each.facts["function"] == "scale"]
        found = store.find(listed.key)
    assert found is not None
    return find_target(request.param), found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every entry of every object in a value of JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        if isinstance(value, dict):
            yield (*path, name)
        yield from places(part, (*path, name))


UNREAD = {"function", "signature", "target", "key"}
"""For people, who ask what the store has."""


def never() -> Any:
    raise AssertionError("nothing is compiled to read an entry")


@pytest.mark.filterwarnings("ignore::triptych.support.warnings.PerformanceWarning")
def test_every_field_that_may_be_missing(kept: tuple[Target, Entry]) -> None:
    target, entry = kept
    facts: Any = entry.facts
    assert program_of(entry, target, never) is not None
    tried = [path for path in places(facts) if path[0] not in UNREAD and not {"options", "occupancy"} & {*path[:-1]}]
    assert len(tried) > 30
    for path in tried:
        damaged = copy.deepcopy(facts)
        inner = damaged
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
        assert program_of(Entry(damaged, entry.artifacts), target, never) is None, path
    results: list[list[Any]] = [["known"], ["known", "list", "[]"], ["other"], []]
    for result in results:
        assert program_of(Entry({**facts, "result": result}, entry.artifacts), target, never) is None, result
    for artifact in entry.artifacts:
        left = {name: content for name, content in entry.artifacts.items() if name != artifact}
        assert program_of(Entry(facts, left), target, never) is None, artifact
