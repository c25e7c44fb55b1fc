"""Pipeline protocol, native code: each warp acquires stages in order and releases each once; what differs is reported.

Nothing here is wrong by itself. It is told as findings are, and explains those of the same launch.
"""

from __future__ import annotations

from triptych.sanitizer.pipeline_protocol import Misuse
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.happens_before_code import STATE, field, put
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number

CALL = "triptych_check_call"
STORE_CALL = "triptych_check_store_call"
_TAKEN, _PHASE, _TAKEN_AT, _GIVEN, _GIVEN_AT, _HELD = range(6)
"""Words of a record: the stage that was taken last and one more, its phase, the site; the stage that was given on last
and one more, the site; then for each stage the site that took it and one more, or 0."""
_GROUP_NUMBER = 0xFFFF


def pipeline_code() -> str:
    """`call(mask, first, place, what, stage, turn, stages, site)`: lanes of a warp use a stage of a pipeline."""
    names = ("first", "place", "what", "stage", "turn", "stages", "site")
    f = Function(CALL, "void", [("mask", "i64"), *((name, "i32") for name in names)], "noinline")
    mask, first, place, what, stage, turn, stages, site = f.parameters
    phase = turn & 1
    with f.when((place >= at.PIPELINE_SIDES) | (stage >= at.STAGES) | mask.equals(0)):
        f.give()
    state = f.call(STATE, "ptr", ())
    with f.when(field(f, state, at.CALLS, "i64").equals(0)):
        room = [f.number(at.MOST_WARPS * at.PIPELINE_SIDES, "i64"), f.number(at.CALLS_BYTES, "i64")]
        put(f, state, at.CALLS, f.call("calloc", "ptr", room))
    put(f, state, at.HAS_CALLS, f.number(1, "i32"))
    warp = first >> field(f, state, at.LANES)
    record = f.at(field(f, state, at.CALLS, "ptr"), (warp * at.PIPELINE_SIDES + place) * at.CALLS_BYTES, "i8")
    held = f.at(record, stage + _HELD, "i32")
    said = Said(f, state, record, first, stage, site)
    with f.when((what & at.IS_STORES).differs(0)):
        f.call(STORE_CALL, "void", [state, record, mask, first, what, stages, site])
        f.give()
    with f.when((said.word(_TAKEN) | said.word(_GIVEN)).equals(0)):
        said.say(Misuse.CALLED, site)
        with f.when((what & at.HAS_GROUPS).differs(0)):
            said.say(Misuse.GROUP, (turn >> 1) & _GROUP_NUMBER)
    with f.when((what & at.IS_GIVEN).differs(0)):
        with f.when(f.load("i32", held).equals(0)):
            twice = said.word(_GIVEN).equals(stage + 1) & said.word(_TAKEN).differs(0)
            with f.when(twice):
                said.say(Misuse.GIVEN_TWICE, said.word(_GIVEN_AT))
            with f.when(twice ^ 1):
                said.say(Misuse.NOT_TAKEN, site)
        f.store(f.number(0, "i32"), held)
        said.keep(_GIVEN, stage + 1)
        said.keep(_GIVEN_AT, site)
        f.give()
    _take(f, said, what, phase, stages, held)
    f.line("ret void")
    return f.text()


def _take(f: Function, said: Said, what: Number, phase: Number, stages: Number, held: Number) -> None:
    """A stage is taken: it must be free, and the one behind that which was taken before."""
    last, before = said.word(_TAKEN), f.load("i32", held)
    is_first = last.equals(0)
    again = last.equals(said.stage + 1) & said.word(_PHASE).equals(phase)
    is_held = before.differs(0)
    wraps = last.equals(stages)
    stage = f.select(wraps, 0, last, "i32")
    follows = stage.equals(said.stage) & (said.word(_PHASE) ^ wraps.to("i32")).equals(phase)
    with f.when(is_held & again):
        said.say(Misuse.TAKEN_TWICE, before - 1)
    with f.when(is_held & (again ^ 1) & (what & at.IS_LOOSE).equals(0)):
        said.say(Misuse.NOT_GIVEN, before - 1)
    with f.when((is_held ^ 1) & again):
        said.say(Misuse.NOT_ADVANCED, said.word(_TAKEN_AT))
    with f.when((again | follows | is_first) ^ 1):
        said.say(Misuse.SKIPPED, said.word(_TAKEN_AT))
    expected = (what >> at.FIRST_PHASE) & 3
    with f.when(is_first & expected.differs(0) & (expected - 1).differs(phase)):
        said.say(Misuse.WRONG_PHASE, said.site)
    f.store(said.site + 1, held)
    said.keep(_TAKEN, said.stage + 1)
    said.keep(_PHASE, phase)
    said.keep(_TAKEN_AT, said.site)


class Said:
    """What a warp has done with one side of a pipeline, and what is told of it."""

    def __init__(self, f: Function, state: Number, record: Number, first: Number, stage: Number, site: Number) -> None:
        self._f, self._state, self._record, self._first = f, state, record, first
        self.stage, self.site = stage, site

    def word(self, number: int) -> Number:
        return self._f.load("i32", self._f.at(self._record, number, "i32"))

    def keep(self, number: int, value: Number) -> None:
        self._f.store(value, self._f.at(self._record, number, "i32"))

    def say(self, what: Misuse, before: Number) -> None:
        kind = self._f.number(what.value, "i32")
        given = [self._state, kind, before, self.site, self._first, self._first, self.stage]
        self._f.call(RECORD, "void", given)


def forget_calls(f: Function, state: Number) -> None:
    """Another block begins."""
    with f.when(field(f, state, at.HAS_CALLS).differs(0)):
        size = f.number(at.MOST_WARPS * at.PIPELINE_SIDES * at.CALLS_BYTES, "i64")
        f.call("memset", "ptr", [field(f, state, at.CALLS, "ptr"), f.number(0, "i32"), size])
        put(f, state, at.HAS_CALLS, f.number(0, "i32"))
