"""TMA store protocol violations: what a kernel did wrong with a pipeline of bulk stores.

The warp that stores closes a group, waits until so many groups are left, and at the end for all. Nothing of that is
wrong by itself: the finding is, and here is which call it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.sanitizer.pipeline_protocol import NOTHING_WRONG, STORES, TAIL, Explanation, Misuse, Misused, Place
from triptych.support.source import Span


def store_explanation(found: Sequence[Misused], store: Span | None, *, has_ended: bool) -> Explanation:
    """Of a store whose memory is written too early, or which nobody waits for when the block has ended."""
    mine = [each for each in found if each.now.kind == STORES]
    if not mine:
        return NOTHING_WRONG
    for each in mine:
        if each.what == Misuse.NOT_CLOSED and each.before.span == store:
            return _sure(
                f"`producer_commit` behind {each.before.line}, before {each.now.line}, by the warp that stores: "
                f"`{each.now.name}` waits for stores that are committed"
            )
    if has_ended:
        return _never_awaited(mine[0])
    for each in mine:
        if each.what == Misuse.NOT_ACQUIRED:
            return _sure(
                f"`producer_acquire` behind {each.before.line}, by the warp that stores: the {STORES} has "
                f"{each.now.stages} stages, and more are committed without it"
            )
    return _too_early(mine[0])


def _sure(text: str) -> Explanation:
    """No span: without a finding nobody is told."""
    return Explanation(text, is_sure=True)


def _never_awaited(found: Misused) -> Explanation:
    if not (closed := _calls(found, "producer_commit")):
        return _sure(f"`producer_commit` and `{TAIL}` of the {STORES} behind the store, by the same warp")
    return _sure(f"`{TAIL}` of the {STORES} behind the last store, by the warp that commits at {closed[0].line}")


def _too_early(found: Misused) -> Explanation:
    """All calls are there: then it is the number of stages, or the other threads do not know."""
    acquired = _calls(found, "producer_acquire")
    behind = f"`producer_acquire` at {acquired[0].line}" if acquired else f"`{TAIL}`"
    left = found.now.stages - 1 if acquired else 0
    leaves = (
        f"; the last {left} may still be read behind it: `num_stages` says how many are filled in turn" if left else ""
    )
    return _sure(f"a barrier behind {behind}, which tells its own warp only, before this line{leaves}")


def _calls(found: Misused, name: str) -> list[Place]:
    return [each for each in found.called if each.name == name and each.kind == STORES]
