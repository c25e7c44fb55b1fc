"""Deadlocks of ranks, which wait for each other or for one that has ended: asked by a kernel that looks in vain.

Every rank that waits says which wait it is in, and says it again while it looks. Who sees all others either gone, or
saying the same of the same wait before and after a moment at which it waited itself, knows that at this moment nobody
was left who could write.
"""

from __future__ import annotations

from triptych.ranks.group import Group, Waiting, new_wait


class Standstill:
    """What a rank remembers between two looks."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._place: object = None
        self._wait = 0
        self._before: dict[int, Waiting | None] = {}

    def could_write(self, place: object) -> list[int]:
        """The other ranks that may still write what is waited for; `place` changes whenever this rank gets on."""
        now = self._group.waiting()
        if place != self._place or not self._before or self._has_moved(now):
            if place != self._place:
                self._place, self._wait = place, new_wait()
            self._before = now
        self._group.say_waiting(self._wait)
        return [rank for rank, said in now.items() if said is not None and not self._stands(rank, said)]

    def _has_moved(self, now: dict[int, Waiting | None]) -> bool:
        """Whether a rank is in another wait than at the moment that was remembered."""
        return any(
            said is not None and before is not None and said.wait != before.wait
            for said, before in ((said, self._before[rank]) for rank, said in now.items())
        )

    def _stands(self, rank: int, said: Waiting) -> bool:
        """Whether it was in one wait at that moment: it has said so before and after."""
        before = self._before[rank]
        return before is not None and said.wait == before.wait != 0 and said.looked > before.looked

    def notes(self) -> list[str]:
        """What an error says of it."""
        now = self._group.waiting()
        own = f"rank {self._group.rank} of {self._group.size} waits here"
        return [own, *(f"rank {rank} {'has ended' if said is None else 'waits too'}" for rank, said in now.items())]


_ONE: list[tuple[Group, Standstill]] = []


def standstill_of(group: Group) -> Standstill:
    """The one of the group."""
    if not _ONE or _ONE[0][0] is not group:
        _ONE[:] = [(group, Standstill(group))]
    return _ONE[0][1]
