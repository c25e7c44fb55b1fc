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
from triptych.sanitizer.findings import BOX_STORE, Arrival, Finding, Kind, note_arrival, note_violation
from triptych.sanitizer.pipeline_protocol import (
    NOTHING_WRONG,
    Explanation,
    Violation,
    ViolationKind,
    add_source,
    explanation,
    store_explanation,
)
from triptych.support.errors import TriptychWarning
from triptych.targets.cpu.abi.abi import CHECK_COLLECT, CHECK_DISCARD
from triptych.targets.cpu.abi.system import system
from triptych.targets.cpu.runtime.kept_object import kept_object
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.async_code import COPY, async_code
from triptych.targets.cpu.sanitizer.async_proxy_code import ASK, LOAD, PHASE, USE, async_proxy_code
from triptych.targets.cpu.sanitizer.coalesced_access_code import coalesced_access_code, global_coalesced_access_code
from triptych.targets.cpu.sanitizer.finding_code import PEEK, REPORT, finding_code
from triptych.targets.cpu.sanitizer.global_code import (
    ACCESS_GLOBAL,
    GLOBAL_LOOP,
    GLOBAL_RUN,
    GLOBAL_RUN_LOOP,
    global_code,
)
from triptych.targets.cpu.sanitizer.global_happens_before_code import release_acquire_code
from triptych.targets.cpu.sanitizer.global_pages_code import global_pages_code
from triptych.targets.cpu.sanitizer.happens_before_code import (
    SYNC,
    barrier_statistics_code,
    happens_before_code,
)
from triptych.targets.cpu.sanitizer.pipeline_code import CALL, pipeline_code, store_pipeline_code
from triptych.targets.cpu.sanitizer.read_log_code import (
    ACCESS,
    ACCESS_LOOP,
    ACCESS_RUN,
    PASS_ALL,
    RUN_LOOP,
    read_log_code,
    repeated_reads_code,
)
from triptych.targets.cpu.sanitizer.shadow_code import (
    BEGIN_BLOCK,
    END_BLOCK,
    SETUP,
    UNSET,
    shadow_code,
    uninitialized_register_code,
)
from triptych.targets.cpu.sanitizer.symbolizer import RecordedFinding, finding_of, kind_of, protocol_violations
from triptych.targets.cpu.sanitizer.tensor_memory_code import TENSOR, TENSOR_COMMIT, TENSOR_WAIT, tensor_memory_code

_ACCESSES = (ACCESS, ACCESS_RUN, ACCESS_LOOP, RUN_LOOP, ACCESS_GLOBAL, GLOBAL_RUN, GLOBAL_LOOP, GLOBAL_RUN_LOOP)
_LAUNCHES = (BEGIN_BLOCK, END_BLOCK, CHECK_COLLECT, CHECK_DISCARD)
_TENSOR = (TENSOR, TENSOR_COMMIT, TENSOR_WAIT)
_EXPORTS = (*_ACCESSES, COPY, UNSET, SYNC, PASS_ALL, PHASE, LOAD, ASK, USE, CALL, *_TENSOR, *_LAUNCHES)
_PYTHON_FUNCTIONS = ("PyGILState_Ensure", "PyGILState_Release", "Py_DecRef", "PyObject_CallFunction")
_SAMPLED = (
    "`global` has looked at a part of the memory that {} accesses: its shadow is limited to {} MiB, and of what is "
    "beyond half of that only some addresses, chosen by their bits, have a place in it. Smaller ones are checked whole"
)
_ARRIVALS, _VIOLATIONS = frozenset(Arrival), frozenset(ViolationKind)


def checker_code() -> str:
    """All native code of the checkers."""
    shared = shadow_code() + coalesced_access_code() + read_log_code() + repeated_reads_code()
    order = (
        async_code() + async_proxy_code() + happens_before_code() + barrier_statistics_code() + release_acquire_code()
    )
    between_blocks = global_pages_code() + global_code() + global_coalesced_access_code()
    text = (
        shared
        + order
        + between_blocks
        + finding_code()
        + uninitialized_register_code()
        + pipeline_code()
        + store_pipeline_code()
        + tensor_memory_code()
    )
    return text.replace("%thread_key", system().thread_key)


@cache
def _loaded() -> LoadedObject:
    made = kept_object("checkers", Request(emit=("object",)), checker_code())
    functions = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON_FUNCTIONS}
    loaded = load_object(made, SETUP, {REPORT: id(_on_report), **functions}, *_EXPORTS, PEEK)
    ctypes.CFUNCTYPE(None)(loaded.library[SETUP])()
    add_source(_violations_now)
    return loaded


def checker_symbols() -> Mapping[str, int]:
    """What compiled code imports."""
    return {name: _loaded().library[name] for name in _EXPORTS}


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _on_report(entries: int, table: int, count: int, skipped: int) -> None:
    """Called after a launch that found something; what it raises the call raises."""
    text = ctypes.string_at(table).decode()
    if skipped:
        warnings.warn(_SAMPLED.format(json.loads(text)["kernel"], at.SHADOW_LIMIT >> 20), TriptychWarning, stacklevel=2)
    found = [entry for entry in (RecordedFinding * count).from_address(entries) if entry.table == table]
    violations = protocol_violations(found)
    note_violation(explanation(violations))
    findings = [_explained(finding_of(entry, text), violations) for entry in found if kind_of(entry) not in _VIOLATIONS]
    for each in findings:
        if each.kind in _ARRIVALS and each.current.span is not None:
            note_arrival(each.current.span, Arrival(each.kind), each.examples[0].previous, each.examples[0].current)
    report([each for each in findings if each.kind not in _ARRIVALS and each.is_wanted])


def _explained(finding: Finding, violations: Sequence[Violation]) -> Finding:
    """With what was done wrong with the pipelines whose memory it is about, and with others."""
    stores = _of_stores(finding, violations)
    if stores.text:
        return replace(finding, explanation=stores)
    own = finding.previous.pipelines | finding.current.pipelines
    others = explanation([each for each in violations if each.current.pipeline not in own])
    mine = explanation([each for each in violations if each.current.pipeline in own])
    return replace(finding, explanation=mine, other_pipelines=others if others.is_sure else NOTHING_WRONG)


def _of_stores(finding: Finding, violations: Sequence[Violation]) -> Explanation:
    if finding.kind not in (Kind.STILL_READ, Kind.NEVER_AWAITED) or finding.previous.verb != BOX_STORE:
        return NOTHING_WRONG
    return store_explanation(violations, finding.previous.span, has_ended=finding.kind == Kind.NEVER_AWAITED)


def _violations_now() -> list[Violation]:
    """What launches that go on have done with their pipelines."""
    into = (ctypes.c_uint64 * 2)()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_loaded().library[PEEK])(into)
    return protocol_violations(list((RecordedFinding * into[1]).from_address(into[0])))
