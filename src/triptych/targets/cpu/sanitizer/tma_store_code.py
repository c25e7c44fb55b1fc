"""Native code of pipelines of bulk stores: each warp counts its groups that may be under way, and what it left open.

Nothing here is wrong by itself: it explains a finding about a store of the same launch.
"""

from __future__ import annotations

from triptych.sanitizer.pipeline_protocol import Misuse
from triptych.targets.cpu.sanitizer import shadow_layout as at
from triptych.targets.cpu.sanitizer.happens_before_code import field
from triptych.targets.cpu.sanitizer.llvm_writer import Function, Number
from triptych.targets.cpu.sanitizer.pipeline_code import STORE_CALL, Said
from triptych.targets.cpu.sanitizer.shadow_code import site_of

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
