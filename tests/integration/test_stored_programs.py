"""Entries of the store that lack something, or say something else: no programs, so what is asked for is compiled."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.support import hostile_facts
from tests.support.hostile_facts import Kept, forged, is_as_told, loaded
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.artifact_store import events as events_module
from triptych.artifact_store.configured import default_store
from triptych.artifact_store.events import StoreWarning
from triptych.artifact_store.record import Entry, NotAnEntry
from triptych.driver.stored_programs import program_of
from triptych.support.config import override

pytestmark = pytest.mark.filterwarnings("ignore::triptych.support.errors.PerformanceWarning")


@pytest.fixture(scope="module", params=["cpu", pytest.param("nvptx:sm_80", marks=needs_assembler)])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return hostile_facts.kept(request.param, str(tmp_path_factory.mktemp("store")), vector(align=4))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every entry of every object in a value of JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        if isinstance(value, dict):
            yield (*path, name)
        yield from places(part, (*path, name))


def never() -> Any:
    raise AssertionError("nothing is compiled to read an entry")


def is_program(entry: Entry, program: Kept) -> bool:
    try:
        program_of(entry, program.target, never)
    except NotAnEntry:
        return False
    return True


def test_every_field_that_may_be_missing(kept: Kept) -> None:
    facts: Any = kept.entry.facts
    assert is_program(kept.entry, kept)
    tried = [path for path in places(facts) if not {"options", "key", "occupancy"} & {*path[:-1]}]
    assert len(tried) > 30
    for path in tried:
        damaged = copy.deepcopy(facts)
        inner = damaged
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
        assert not is_program(Entry(damaged, kept.entry.artifacts), kept), path
    results: list[list[Any]] = [["known"], ["known", "list", "[]"], ["known", "bool", "maybe"], ["other"], []]
    results += [["tuple", ["number"], ["number"]], ["known", "int", "1"]]
    for result in results:
        assert not is_program(Entry({**facts, "result": result}, kept.entry.artifacts), kept), result
    for artifact in kept.entry.artifacts:
        left = {name: content for name, content in kept.entry.artifacts.items() if name != artifact}
        assert not is_program(Entry(facts, left), kept), artifact
    assert not is_program(Entry(facts, {**kept.entry.artifacts, "more": b""}), kept)


def test_changed_facts_are_a_miss_or_what_they_say(kept: Kept) -> None:
    """A small draw; `benchmarks/hostile_records.py` makes the large one."""
    random, count = Random(7), 0
    for _ in range(200):
        facts = forged(random, kept.entry.facts)
        made = loaded(kept, facts)
        count += made is not None
        assert made is None or is_as_told(made, facts), facts
    assert 0 < count < 100


def test_a_forged_record_is_compiled_again_with_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "_WARNED", set())
    with override(cache=True, cache_dir=str(tmp_path)):
        program = hostile_facts.kept("cpu", str(tmp_path), np.ones(128, np.float32))
        store = default_store()
        assert store is not None
        facts: Any = copy.deepcopy(program.entry.facts)
        facts["program"]["span"] = [1, 2]
        store.publish(program.key, Entry(facts, program.entry.artifacts))
        with pytest.warns(StoreWarning, match="no entry .no program: ") as told:
            hostile_facts.kept("cpu", str(tmp_path), np.ones(128, np.float32))
        assert len(told) == 1
        assert store.find(program.key) == program.entry
