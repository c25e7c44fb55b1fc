"""Sanitizer runtime of this process: native code, compiled once and stored, and what Python does with its findings."""

from __future__ import annotations

import ctypes
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request
from triptych.sanitizer.finding_errors import report
from triptych.sanitizer.findings import BOX_STORE, Finding, Kind, Meeting, note_meeting, note_misuse
from triptych.sanitizer.pipeline_protocol import (
    NOTHING_WRONG,
    Explanation,
    Misuse,
    Misused,
    add_source,
    explanation,
)
from triptych.sanitizer.tma_store_protocol import store_explanation
from triptych.support.warnings import TriptychWarning
from triptych.targets.cpu.abi.abi import CHECK_COLLECT, CHECK_DISCARD
from triptych.targets.cpu.abi.system import system
from triptych.targets.cpu.runtime.kept_object import kept_object
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.async_code import COPY, async_code
from triptych.targets.cpu.sanitizer.async_proxy_code import LOAD, PHASE, USE, party_code
from triptych.targets.cpu.sanitizer.barrier_statistics_code import meeting_code
from triptych.targets.cpu.sanitizer.coalesced_access_code import stretch_code
from triptych.targets.cpu.sanitizer.finding_code import PEEK, REPORT, finding_code
from triptych.targets.cpu.sanitizer.global_coalesced_access_code import global_stretch_code
from triptych.targets.cpu.sanitizer.global_code import (
    ACCESS_GLOBAL,
    GLOBAL_LOOP,
    GLOBAL_RUN,
    GLOBAL_RUN_LOOP,
    global_code,
)
from triptych.targets.cpu.sanitizer.global_happens_before_code import block_order_code
from triptych.targets.cpu.sanitizer.global_pages_code import global_pages_code
from triptych.targets.cpu.sanitizer.happens_before_code import SYNC, field, order_code
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number
from triptych.targets.cpu.sanitizer.pipeline_code import CALL, STORE_CALL, Said, pipeline_code
from triptych.targets.cpu.sanitizer.read_log_code import (
    ACCESS,
    ACCESS_LOOP,
    ACCESS_RUN,
    PASS_ALL,
    RUN_LOOP,
    read_log_code,
)
from triptych.targets.cpu.sanitizer.repeated_reads_code import repeated_reads_code
from triptych.targets.cpu.sanitizer.shadow_code import BEGIN_BLOCK, END_BLOCK, SETUP, shadow_code, site_of
from triptych.targets.cpu.sanitizer.symbolizer import RecordedFinding, finding_of, kind_of, protocol_violations
from triptych.targets.cpu.sanitizer.uninitialized_code import UNSET, unset_code

# Native code of pipelines of bulk stores: each warp counts its groups that may be under way, and what it left open.
# Nothing here is wrong by itself: it explains a finding about a store of the same launch.

_UNDER_WAY, _CLOSED_AT, _IS_USED = range(3)
"""Words of a record: groups that may be under way, the site that closed the last one, whether there was a call."""


def store_pipeline_code() -> str:
    """`store_call(state, record, mask, first, what, stages, site)`: a group is closed, or waited for."""
    names = [("state", "ptr"), ("record", "ptr"), ("mask", "i64")]
    f = Function(STORE_CALL, "void", [*names, *((name, "i32") for name in ("first", "what", "stages", "site"))])
    state, record, mask, first, what, stages, site = f.parameters
    said = Said(f, state, record, first, f.number(0, "i32"), site)
    with f.when(said.word(_IS_USED).equals(0)):
        said.say(Misuse.CALLED, site)
        said.keep(_IS_USED, f.number(1, "i32"))
    is_open = _is_open(f, state, mask, first)
    under_way, closes = said.word(_UNDER_WAY), (what & at.IS_GIVEN).differs(0)
    with f.when(closes & is_open):
        with f.when(under_way >= stages):
            said.say(Misuse.NOT_ACQUIRED, said.word(_CLOSED_AT))
        said.keep(_UNDER_WAY, under_way + 1)
        said.keep(_CLOSED_AT, site)
    with f.when((closes ^ 1) & is_open):
        warp = first >> field(f, state, at.LANES)
        said.say(Misuse.NOT_CLOSED, site_of(f.load("i64", f.at(f.at(state, at.STORED, "i8"), warp, "i64"))))
    with f.when(closes ^ 1):
        left = f.select((what & at.IS_TAIL).differs(0), 0, stages - 1, "i32")
        said.keep(_UNDER_WAY, f.select(under_way < left, under_way, left, "i32"))
    f.line("ret void")
    return f.text()


def _is_open(f: Function, state: Number, mask: Number, first: Number) -> Number:
    """Whether one of these lanes has begun a store that is in no group."""
    found = f.variable("i32", 0)
    with f.count(0, f.number(64, "i32")) as lane, f.when(((mask >> lane.to("i64")) & 1).differs(0)):
        found.set(found.now | f.load("i32", f.at(f.at(state, at.STORE_OPEN, "i8"), first + lane, "i32")))
    return found.now.differs(0)


_ACCESSES = (ACCESS, ACCESS_RUN, ACCESS_LOOP, RUN_LOOP, ACCESS_GLOBAL, GLOBAL_RUN, GLOBAL_LOOP, GLOBAL_RUN_LOOP)
_LAUNCHES = (BEGIN_BLOCK, END_BLOCK, CHECK_COLLECT, CHECK_DISCARD)
_EXPORTS = (*_ACCESSES, COPY, UNSET, SYNC, PASS_ALL, PHASE, LOAD, USE, CALL, *_LAUNCHES)
_PYTHON_FUNCTIONS = ("PyGILState_Ensure", "PyGILState_Release", "Py_DecRef", "PyObject_CallFunction")
_SAMPLED = (
    "`global` has looked at a part of the memory that {} accesses: its shadow is limited to {} MiB, and of what is "
    "beyond half of that only some addresses, chosen by their bits, have a place in it. Smaller ones are checked whole"
)
_MEETINGS, _MISUSES = frozenset(Meeting), frozenset(Misuse)


def checker_code() -> str:
    """All native code of the checkers."""
    shared = shadow_code() + stretch_code() + read_log_code() + repeated_reads_code()
    order = async_code() + party_code() + order_code() + meeting_code() + block_order_code()
    between_blocks = global_pages_code() + global_code() + global_stretch_code()
    text = shared + order + between_blocks + finding_code() + unset_code() + pipeline_code() + store_pipeline_code()
    return text.replace("%thread_key", system().thread_key)


@cache
def _loaded() -> LoadedObject:
    made = kept_object("checkers", Request(emit=("object",)), checker_code())
    functions = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON_FUNCTIONS}
    loaded = load_object(made, SETUP, {REPORT: id(_told), **functions}, *_EXPORTS, PEEK)
    ctypes.CFUNCTYPE(None)(loaded.library[SETUP])()
    add_source(_misused_now)
    return loaded


def checker_symbols() -> Mapping[str, int]:
    """What compiled code imports."""
    return {name: _loaded().library[name] for name in _EXPORTS}


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _told(entries: int, table: int, count: int, skipped: int) -> None:
    """Called after a launch that found something; what it raises the call raises."""
    text = ctypes.string_at(table).decode()
    if skipped:
        warnings.warn(_SAMPLED.format(json.loads(text)["kernel"], at.SHADOW_LIMIT >> 20), TriptychWarning, stacklevel=2)
    found = [entry for entry in (RecordedFinding * count).from_address(entries) if entry.table == table]
    misused = protocol_violations(found)
    note_misuse(explanation(misused))
    findings = [_explained(finding_of(entry, text), misused) for entry in found if kind_of(entry) not in _MISUSES]
    for each in findings:
        if each.kind in _MEETINGS and each.now.span is not None:
            note_meeting(each.now.span, Meeting(each.kind), each.examples[0].before, each.examples[0].now)
    report([each for each in findings if each.kind not in _MEETINGS and each.is_wanted])


def _explained(finding: Finding, misused: Sequence[Misused]) -> Finding:
    """With what was done wrong with the pipelines whose memory it is about, and with others."""
    stores = _of_stores(finding, misused)
    if stores.text:
        return replace(finding, misused=stores)
    own = finding.before.pipelines | finding.now.pipelines
    others = explanation([each for each in misused if each.now.pipeline not in own])
    mine = explanation([each for each in misused if each.now.pipeline in own])
    return replace(finding, misused=mine, beside=others if others.is_sure else NOTHING_WRONG)


def _of_stores(finding: Finding, misused: Sequence[Misused]) -> Explanation:
    if finding.kind not in (Kind.STILL_READ, Kind.NEVER_AWAITED) or finding.before.verb != BOX_STORE:
        return NOTHING_WRONG
    return store_explanation(misused, finding.before.span, has_ended=finding.kind == Kind.NEVER_AWAITED)


def _misused_now() -> list[Misused]:
    """What launches that go on have done with their pipelines."""
    into = (ctypes.c_uint64 * 2)()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_loaded().library[PEEK])(into)
    return protocol_violations(list((RecordedFinding * into[1]).from_address(into[0])))
