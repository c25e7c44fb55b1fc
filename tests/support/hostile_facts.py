"""Records of a real program whose facts somebody has changed, under a digest that was made to fit, as anyone can.

Without a key nothing says who wrote a record, and whoever writes one also writes its code. What is asked here is less:
that no such record ends a look-up, and that a program which is loaded is the one that the record describes.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import triptych as tt
from tests.support.hostile_records import NUMBERS, TEXTS, places
from triptych import cute
from triptych.artifact_store.configured import default_store
from triptych.artifact_store.directory import Part, load
from triptych.artifact_store.record import Entry, NotAnEntry, digest_of, write_record
from triptych.driver.stored_programs import program_of
from triptych.metastage.arguments.results import recipe_of
from triptych.objectstage.target import Target, find_target
from triptych.stages import Compiled, Loaded
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


@dataclass(frozen=True, slots=True)
class Kept:
    """A program in the store."""

    target: Target
    key: str
    entry: Entry
    folder: str
    """Where the store is; a forged option may ask for files, which belong there, too."""


def kept(target: str, folder: str, x: object) -> Kept:
    """`scale`, compiled for a tensor like `x` into a store in this folder, or found there."""
    with override(cache=True, cache_dir=folder, performance_warnings=False):
        tt.compile(tt.jit(scale.function), 2.0, x, target=target)
        store = default_store()
        assert store is not None, "the setting `cache` is on"
        (listed,) = [each for each in store.entries() if each.facts["function"] == "scale"]
        found = store.find(listed.key)
    assert found is not None, "listed a moment ago"
    return Kept(find_target(target), listed.key, found, folder)


def forged(random: Random, facts: Any) -> Any:
    """The same facts but for some of them."""
    while True:
        changed = copy.deepcopy(facts)
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            random.choice(_CHANGES)(random, changed)
        if changed != facts:
            return changed


def loaded(program: Kept, facts: Any) -> Loaded | None:
    """What a reader without a key makes of the program's record with these facts. None: a miss.

    Anything that is raised but `NotAnEntry` is a fault of the reader.
    """
    try:
        source = _Source(write_record(program.key, facts, program.entry.artifacts, None), program.entry)
        found = load(source, program.key, None)
        assert found is not None
        with override(performance_warnings=False, keep=program.folder):
            made, rebuild = program_of(found[0], program.target, _never)
    except NotAnEntry:
        return None
    assert recipe_of(rebuild) == facts["result"]
    return made


def is_as_told(made: Loaded, facts: Any) -> bool:
    """Whether a loaded program is what the facts say."""
    host = None if made.compiled.host is None else _told(made.compiled.host())
    said = [facts["program"], facts["host"], facts["signature"]]
    return _text([_told(made.compiled), host, made.compiled.lowered.traced.signature]) == _text(
        [said[0] | {"code": None}, said[1] and said[1] | {"code": None}, said[2]]
    )


def _told(compiled: Compiled) -> dict[str, Any]:
    traced = compiled.lowered.traced
    return {
        "name": traced.name,
        "kernels": compiled.lowered.kernels,
        "parameters": [asdict(leaf) for leaf in traced.parameters],
        "results": [asdict(leaf) for leaf in traced.results],
        "prints": traced.prints,
        "loops": traced.loops,
        "span": None if traced.span is None else asdict(traced.span),
        "options": compiled.options,
        "code": None,
    }


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _never() -> Any:
    raise AssertionError("nothing is compiled to read an entry")


class _Source:
    def __init__(self, record: bytes, entry: Entry) -> None:
        self.record = record
        self.artifacts = {digest_of(data): data for data in entry.artifacts.values()}

    def read(self, part: Part, name: str, limit: int) -> bytes | None:
        return self.record if part == "ac" else self.artifacts.get(name)


def _other_value(random: Random, facts: Any) -> None:
    container, name = random.choice(list(places(facts)))
    numbers = [number for number in NUMBERS if number == number and number != float("inf")]
    texts = [text for text in TEXTS if len(text) < 1000]
    deep: Any = 0
    for _ in range(random.choice((1, 60, 180))):
        deep = [deep]
    container[name] = random.choice((random.choice(texts), random.choice(numbers), [], {}, deep, [{}] * 30))


def _value_of_another_place(random: Random, facts: Any) -> None:
    (into, name), (source, other) = random.sample(list(places(facts)), 2)
    into[name] = copy.deepcopy(source[other])


def _nearly(random: Random, facts: Any) -> None:
    """Of the same type, or almost: another number, another letter, a 1 for True."""
    container, name = random.choice(list(places(facts)))
    value = container[name]
    if isinstance(value, bool):
        container[name] = random.choice((not value, int(value), str(value), None))
    elif isinstance(value, int):
        container[name] = random.choice((value + 1, -value, float(value % 1000), str(value % 1000), bool(value), None))
    elif isinstance(value, str):
        container[name] = random.choice((value + " ", value[1:], value.swapcase(), [value], list(value), None))


def _left_out(random: Random, facts: Any) -> None:
    container, name = random.choice(list(places(facts)))
    del container[name]


def _put_in(random: Random, facts: Any) -> None:
    container, name = random.choice(list(places(facts)))
    if isinstance(container, dict):
        container[random.choice(("", "x", "memory", str(name) + "2"))] = copy.deepcopy(container[name])
    else:
        container.append(copy.deepcopy(container[name]))


_CHANGES: tuple[Callable[[Random, Any], None], ...] = (
    _other_value,
    _value_of_another_place,
    _nearly,
    _nearly,
    _left_out,
    _put_in,
)
