"""How memory operations of threads are ordered, and for whom: the words of programs as LLVM's."""

from __future__ import annotations

from triptych.ir.handles import Attribute
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, place

RELAXED, ACQUIRE, RELEASE, ACQUIRE_RELEASE = 2, 4, 5, 6
"""LLVM's numbers of the orderings."""
_ORDERINGS = {"relaxed": RELAXED, "acquire": ACQUIRE, "release": RELEASE, "acq_rel": ACQUIRE_RELEASE}
_SCOPES = {"cta": "block", "cluster": "cluster", "gpu": "device", "sys": ""}


def ordering(sem: str | None) -> int:
    """The ordering of an atomic operation; none stated means that only the operation itself is atomic."""
    if sem is not None and sem not in _ORDERINGS:
        raise _unknown("sem", sem, _ORDERINGS)
    return RELAXED if sem is None else _ORDERINGS[sem]


def scope_attributes(trace: Trace, scope: str | None) -> dict[str, Attribute]:
    """Who sees the operation in order: the threads of the block, the cluster, the device, or everybody."""
    if scope is not None and scope not in _SCOPES:
        raise _unknown("scope", scope, _SCOPES)
    name = _SCOPES[scope or "gpu"]
    return {"syncscope": trace.builder.string(name)} if name else {}


def _unknown(what: str, given: str, known: dict[str, object] | dict[str, int] | dict[str, str]) -> OperandTypeError:
    return OperandTypeError(
        f"there is no {what} {given!r}", span=place(), found=f"{what}={given!r}", expected=", ".join(map(repr, known))
    )
