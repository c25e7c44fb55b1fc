"""Entries of the store that lack something: they are no programs, and what is asked for is compiled."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.artifact_store.configured import default_store
from triptych.artifact_store.entry import Entry
from triptych.objectstage.target import find_target
from triptych.stored_programs import program_of
from triptych.support.config import override


@tt.kernel
def scale_kernel(a: tt.Float32, x: cute.Tensor) -> None:
    i = cute.arch.thread_idx()[0]
    if i < x.shape[0]:
        x[i] = a * x[i]


@tt.jit
def scale(a: tt.Float32, x: cute.Tensor) -> Any:
    scale_kernel(a, x).launch(grid=1, block=32)
    return a, (1, "text")


@pytest.fixture(scope="module")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Entry:
    folder: Path = tmp_path_factory.mktemp("store")
    with override(cache=True, cache_dir=str(folder / "store")):
        scale(2.0, np.ones(8, np.float32))
        store = default_store()
        assert store is not None
        (listed,) = [each for each in store.entries() if each.facts["function"] == "scale"]
        found = store.find(listed.key)
    assert found is not None
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every entry of every object in a value of JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        if isinstance(value, dict):
            yield (*path, name)
        yield from places(part, (*path, name))


UNREAD = {"signature", "target", "key"}
"""For people, who ask what the store has."""


def never() -> Any:
    raise AssertionError("nothing is compiled to read an entry")


def test_every_field_that_may_be_missing(entry: Entry) -> None:
    target = find_target("cpu")
    facts: Any = entry.facts
    assert program_of(entry, target, never) is not None
    tried = [path for path in places(facts) if path[0] not in UNREAD and path[:-1] != ("options",)]
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
