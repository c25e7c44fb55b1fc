"""Pipeline protocol, native code: each warp acquires stages in order and releases each once; what differs is reported.

Nothing that differs is wrong by itself. It is recorded as findings are, and explains those of the same launch.
"""

from __future__ import annotations

from triptych.sanitizer.pipeline_protocol import ViolationKind
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.finding_code import RECORD
from triptych.targets.cpu.sanitizer.happens_before_code import STATE, field, put, site_of
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number

CALL = "triptych_check_call"
STORE_CALL = "triptych_check_store_call"
_TAKEN, _PHASE, _TAKEN_AT, _GIVEN, _GIVEN_AT, _HELD = range(6)
"""Words of a record: the stage that was taken last and one more, its phase, the site; the stage that was given on last
and one more, the site; then for each stage the site that took it and one more, or 0."""
_GROUP_NUMBER = 0xFFFF


def pipeline_code() -> str:
    """`call(mask, first, place, what, stage, phase, stages, site)`: lanes of a warp use a stage of a pipeline."""
    names = ("first", "place", "what", "stage", "phase", "stages", "site")
    f = Function(CALL, "void", [("mask", "i64"), *((name, "i32") for name in names)], "noinline")
    mask, first, place, what, stage, phases, stages, site = f.parameters
    phase = phases & 1
    with f.when((place >= at.PIPELINE_SIDES) | (stage >= at.STAGES) | mask.equals(0)):
        f.give()
    state = f.call(STATE, "ptr", ())
    with f.when(field(f, state, at.CALLS, "i64").equals(0)):
        sizes = [f.number(at.MOST_WARPS * at.PIPELINE_SIDES, "i64"), f.number(at.CALLS_BYTES, "i64")]
        put(f, state, at.CALLS, f.call("calloc", "ptr", sizes))
    put(f, state, at.HAS_CALLS, f.number(1, "i32"))
    warp = first >> field(f, state, at.LANES)
    record = f.at(field(f, state, at.CALLS, "ptr"), (warp * at.PIPELINE_SIDES + place) * at.CALLS_BYTES, "i8")
    held = f.at(record, stage + _HELD, "i32")
    side = _PipelineSide(f, state, record, first, stage, site)
    with f.when((what & at.IS_STORES).differs(0)):
        f.call(STORE_CALL, "void", [state, record, mask, first, what, stages, site])
        f.give()
    with f.when((side.word(_TAKEN) | side.word(_GIVEN)).equals(0)):
        side.report(ViolationKind.CALLED, site)
        with f.when((what & at.HAS_GROUPS).differs(0)):
            side.report(ViolationKind.GROUP, (phases >> 1) & _GROUP_NUMBER)
    with f.when((what & at.IS_GIVEN).differs(0)):
        with f.when(f.load("i32", held).equals(0)):
            twice = side.word(_GIVEN).equals(stage + 1) & side.word(_TAKEN).differs(0)
            with f.when(twice):
                side.report(ViolationKind.GIVEN_TWICE, side.word(_GIVEN_AT))
            with f.when(twice ^ 1):
                side.report(ViolationKind.NOT_TAKEN, site)
        f.store(f.number(0, "i32"), held)
        side.set(_GIVEN, stage + 1)
        side.set(_GIVEN_AT, site)
        f.give()
    _take(f, side, what, phase, stages, held)
    f.line("ret void")
    return f.text()


def _take(f: Function, side: _PipelineSide, what: Number, phase: Number, stages: Number, held: Number) -> None:
    """A stage is taken: it must be free, and the one behind that which was taken before."""
    last, before = side.word(_TAKEN), f.load("i32", held)
    is_first = last.equals(0)
    again = last.equals(side.stage + 1) & side.word(_PHASE).equals(phase)
    is_held = before.differs(0)
    wraps = last.equals(stages)
    stage = f.select(wraps, 0, last, "i32")
    follows = stage.equals(side.stage) & (side.word(_PHASE) ^ wraps.to("i32")).equals(phase)
    with f.when(is_held & again):
        side.report(ViolationKind.TAKEN_TWICE, before - 1)
    with f.when(is_held & (again ^ 1) & (what & at.IS_LOOSE).equals(0)):
        side.report(ViolationKind.NOT_GIVEN, before - 1)
    with f.when((is_held ^ 1) & again):
        side.report(ViolationKind.NOT_ADVANCED, side.word(_TAKEN_AT))
    with f.when((again | follows | is_first) ^ 1):
        side.report(ViolationKind.SKIPPED, side.word(_TAKEN_AT))
    expected = (what >> at.FIRST_PHASE) & 3
    with f.when(is_first & expected.differs(0) & (expected - 1).differs(phase)):
        side.report(ViolationKind.WRONG_PHASE, side.site)
    f.store(side.site + 1, held)
    side.set(_TAKEN, side.stage + 1)
    side.set(_PHASE, phase)
    side.set(_TAKEN_AT, side.site)


class _PipelineSide:
    """What a warp has done with one side of a pipeline, and what is recorded of it."""

    def __init__(self, f: Function, state: Number, record: Number, first: Number, stage: Number, site: Number) -> None:
        self._f, self._state, self._record, self._first = f, state, record, first
        self.stage, self.site = stage, site

    def word(self, number: int) -> Number:
        return self._f.load("i32", self._f.at(self._record, number, "i32"))

    def set(self, number: int, value: Number) -> None:
        self._f.store(value, self._f.at(self._record, number, "i32"))

    def report(self, what: ViolationKind, before: Number) -> None:
        kind = self._f.number(what.value, "i32")
        given = [self._state, kind, before, self.site, self._first, self._first, self.stage]
        self._f.call(RECORD, "void", given)


def forget_calls(f: Function, state: Number) -> None:
    """Another block begins."""
    with f.when(field(f, state, at.HAS_CALLS).differs(0)):
        size = f.number(at.MOST_WARPS * at.PIPELINE_SIDES * at.CALLS_BYTES, "i64")
        f.call("memset", "ptr", [field(f, state, at.CALLS, "ptr"), f.number(0, "i32"), size])
        put(f, state, at.HAS_CALLS, f.number(0, "i32"))


# Native code of pipelines of bulk stores: each warp counts its groups that may be under way, and what it left open.
# Nothing here is wrong by itself: it explains a finding about a store of the same launch.

_UNDER_WAY, _CLOSED_AT, _IS_USED = range(3)
"""Words of a record: groups that may be under way, the site that closed the last one, whether there was a call."""


def store_pipeline_code() -> str:
    """`store_call(state, record, mask, first, what, stages, site)`: a group is closed, or waited for."""
    names = [("state", "ptr"), ("record", "ptr"), ("mask", "i64")]
    f = Function(STORE_CALL, "void", [*names, *((name, "i32") for name in ("first", "what", "stages", "site"))])
    state, record, mask, first, what, stages, site = f.parameters
    side = _PipelineSide(f, state, record, first, f.number(0, "i32"), site)
    with f.when(side.word(_IS_USED).equals(0)):
        side.report(ViolationKind.CALLED, site)
        side.set(_IS_USED, f.number(1, "i32"))
    is_open = _is_open(f, state, mask, first)
    under_way, closes = side.word(_UNDER_WAY), (what & at.IS_GIVEN).differs(0)
    with f.when(closes & is_open):
        with f.when(under_way >= stages):
            side.report(ViolationKind.NOT_ACQUIRED, side.word(_CLOSED_AT))
        side.set(_UNDER_WAY, under_way + 1)
        side.set(_CLOSED_AT, site)
    with f.when((closes ^ 1) & is_open):
        warp = first >> field(f, state, at.LANES)
        side.report(ViolationKind.NOT_CLOSED, site_of(f.load("i64", f.at(f.at(state, at.STORED, "i8"), warp, "i64"))))
    with f.when(closes ^ 1):
        left = f.select((what & at.IS_TAIL).differs(0), 0, stages - 1, "i32")
        side.set(_UNDER_WAY, f.select(under_way < left, under_way, left, "i32"))
    f.line("ret void")
    return f.text()


def _is_open(f: Function, state: Number, mask: Number, first: Number) -> Number:
    """Whether one of these lanes has begun a store that is in no group."""
    found = f.variable("i32", 0)
    with f.count(0, f.number(64, "i32")) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        found.set(found.now | f.load("i32", f.at(f.at(state, at.STORE_OPEN, "i8"), first + lane, "i32")))
    return found.now.differs(0)
