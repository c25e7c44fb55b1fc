"""Run-time checks: the errors that they may raise, by their names in MLIR, and the text that carries the facts.

A check is made while tracing and fails when the program runs, maybe in another process: all that crosses is a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from triptych.diagnostics.kernel_errors import (
    AsyncAccessError,
    BlockMemoryError,
    ClusterError,
    CooperativeLaunchError,
    DeadlockError,
    DivergentBarrierError,
    LaunchShapeError,
    MbarrierError,
    MulticastAddressError,
    PartialWarpError,
    TensorMemoryError,
)
from triptych.diagnostics.runtime_errors import (
    AssertionFailedError,
    CompiledCodeError,
    DivisionByZeroError,
    IndexOutOfRangeError,
    LayoutRequirementError,
    MisalignedAccessError,
    NanMembershipError,
    NegativeShiftError,
    NullPointerError,
    OutOfBoundsError,
    ZeroStepError,
)
from triptych.support.source import Span

CHECK_ERRORS: dict[str, type[CompiledCodeError]] = {
    cls.__name__: cls
    for cls in (
        DivisionByZeroError,
        AssertionFailedError,
        IndexOutOfRangeError,
        NegativeShiftError,
        ZeroStepError,
        LayoutRequirementError,
        OutOfBoundsError,
        MisalignedAccessError,
        NullPointerError,
        NanMembershipError,
        MulticastAddressError,
        LaunchShapeError,
        DivergentBarrierError,
        DeadlockError,
        ClusterError,
        MbarrierError,
        AsyncAccessError,
        PartialWarpError,
        BlockMemoryError,
        CooperativeLaunchError,
        TensorMemoryError,
    )
}
"""What a run-time check may raise, by the name it has in MLIR."""


def pack(
    title: str,
    *,
    span: Span | None = None,
    found: str = "",
    expected: str = "",
    instead: str = "",
    notes: Sequence[str] = (),
    related: Sequence[tuple[str, Span]] = (),
    tables: Mapping[str, Any] | None = None,
) -> str:
    """The arguments of an error as one text. `tables` are for who makes more of it than the arguments say."""
    facts = {"found": found, "expected": expected, "instead": instead, "notes": list(notes), "tables": tables}
    places = {"span": span and asdict(span), "related": [(label, asdict(place)) for label, place in related]}
    return json.dumps({"title": title} | {name: fact for name, fact in (facts | places).items() if fact})


def unpack(text: str) -> dict[str, Any]:
    """The arguments of the error again; a text that says nothing more is its title."""
    if not text.startswith("{"):
        return {"title": text}
    facts: dict[str, Any] = json.loads(text)
    facts.pop("tables", None)
    if "span" in facts:
        facts["span"] = Span(**facts["span"])
    facts["related"] = [(label, Span(**place)) for label, place in facts.get("related", ())]
    return facts


def tables(text: str) -> dict[str, Any]:
    """What the text carries beside the arguments."""
    found: dict[str, Any] = json.loads(text).get("tables") or {}
    return found
