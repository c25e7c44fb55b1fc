"""Random statements in which threads meet: barriers around exchanges of shared memory, shuffles, votes, reductions.

Shared memory changes hands at barriers: between two of them all threads read a tensor, or each writes one cell of it.
"""

from __future__ import annotations

from math import gcd

from tests.differential.kernels.scope import INTEGERS, Kind, Level, Scope, Variable
from tests.differential.kernels.writer import Place, Writer

SYNC = "cute.arch.sync_threads()"


class Meetings(Writer):
    """Writes statements that wait for other threads; where they may not stand they write something else, or nothing."""

    # -- the block

    def _barrier(self, scope: Scope, place: Place) -> bool:
        """A barrier, where each shared tensor may change hands; all hands are decided before a value reads any."""
        if place.level is not Level.BLOCK or not place.meets:
            return self._shuffle(scope, place)
        self._write(SYNC)
        shared = self._memory.shared
        for tensor, cell in shared.items():
            is_owned = self._choices.boolean(0.6 if cell is None else 0.3)
            shared[tensor] = self._cell(tensor.shape[0]) if is_owned else None
        for tensor, own in shared.items():
            if own is not None and self._choices.boolean(0.7):
                self._write(f"{tensor.name}[{own}] = {self._value(tensor.kind, scope, Level.THREAD)}")
        return False

    def _settle(self) -> None:
        """Make all shared memory readable by all."""
        if any(cell is not None for cell in self._memory.shared.values()):
            self._write(SYNC)
            self._memory.shared.update(dict.fromkeys(self._memory.shared))

    def _cell(self, size: int) -> str:
        """An index that is another one in each thread of a block."""
        threads = self._launch.threads
        offset = self._choices.integer(0, threads - 1)
        factor = self._choices.choice([n for n in (1, 3, 5, 7, 11, 13) if gcd(n, threads) == 1])
        forms = ["tid", "tid", f"{threads - 1} - tid", f"(tid + {offset}) % {threads}"]
        forms.append(f"(tid * {factor} + {offset}) % {threads}")
        if threads % 2 == 0:
            forms.append("tid ^ 1")
        if size > threads:
            forms.append(f"tid + {size - threads}")
        return self._choices.choice(forms)

    # -- the warp

    def _shuffle(self, scope: Scope, place: Place) -> bool:
        """Read a value of another lane; where a warp is not whole, only of lanes that exist."""
        if not place.has_warp:
            return False
        kind = self._number()
        value = self._value(kind, scope, Level.THREAD)
        variable = Variable(kind, Level.THREAD)
        form = self._choices.choice(("shuffle_sync", "shuffle_sync_bfly", "shuffle_sync_up", "shuffle_sync_down"))
        if form == "shuffle_sync":
            lane = self._expressions.of(Kind.INT32, scope, 1, Level.THREAD).text
            target = self._names.fresh(variable)
            self._write(f"{target} = cute.arch.shuffle_sync({value}, {lane} % {self._lanes()})")
            scope.variables[target] = variable
            return False
        offset = str(self._choices.choice((1, 2, 4, 8, 16) if form.endswith("bfly") else (1, 2, 3, 7, 16, 31)))
        if self._choices.boolean(0.2):
            offset = f"{self._expressions.of(Kind.INT32, scope, 1, Level.BLOCK).text} & 31"
        own, target = self._names.fresh(variable), self._names.fresh(variable)
        self._write(f"{own} = {value}")
        self._write(f"{target} = cute.arch.{form}({own}, {offset})")
        if not self._launch.has_whole_warps:
            sign = {"shuffle_sync_bfly": "^", "shuffle_sync_up": "-", "shuffle_sync_down": "+"}[form]
            self._write(f"{target} = {target} if (lane {sign} ({offset})) < {self._lanes()} else {own}")
        scope.variables[target] = variable
        return False

    def _lanes(self) -> str:
        return "32" if self._launch.has_whole_warps else "lanes"

    def _vote(self, scope: Scope, place: Place) -> bool:
        if not place.has_warp:
            return False
        form = self._choices.choice(("any", "all", "ballot", "uni"))
        variable = Variable(Kind.INT32 if form == "ballot" else Kind.BOOL, Level.WARP)
        target = self._names.fresh(variable)
        condition = self._expressions.of(Kind.BOOL, scope, 2, Level.THREAD).text
        self._write(f"{target} = cute.arch.vote_{form}_sync({condition})")
        scope.variables[target] = variable
        return False

    def _reduce(self, scope: Scope, place: Place) -> bool:
        if not place.has_warp or not self._launch.has_whole_warps:
            return self._vote(scope, place)
        kind = self._number()
        form = self._choices.choice(("sum", "max", "min") if kind in INTEGERS else ("sum",))
        group = self._choices.choice((32, 32, 8, 2))
        value = f"cute.arch.warp_reduction_{form}({self._value(kind, scope, Level.THREAD)}, threads_in_group={group})"
        variable = Variable(kind, Level.WARP if group == 32 else Level.THREAD)
        target = self._names.fresh(variable)
        self._write(f"{target} = {value}" if kind in INTEGERS else f"{target} = {value} % 31.0")
        scope.variables[target] = variable
        return False

    def _among_some(self, scope: Scope, place: Place) -> bool:
        """A shuffle in a branch: the lanes that take it are known by a vote before, and read the first of them."""
        if not place.has_warp:
            return False
        kind = self._number()
        variable = Variable(kind, Level.THREAD)
        taken, mask, target = (self._names.fresh_with(prefix) for prefix in ("taken", "mask", "among"))
        self._write(f"{taken} = {self._expressions.of(Kind.BOOL, scope, 2, Level.THREAD).text}")
        self._write(f"{mask} = cute.arch.vote_ballot_sync({taken})")
        self._write(f"{target} = {self._value(kind, scope, Level.THREAD)}")
        self._write(f"if {taken}:")
        first = f"cute.arch.popc(({mask} & -{mask}) - 1)"
        self._write(f"    {target} = cute.arch.shuffle_sync({target}, {first}, mask={mask})")
        scope.variables[target] = variable
        return False

    def _exchange_in_warp(self, scope: Scope, place: Place) -> bool:
        """Read a cell that another lane owns, between two barriers of the warp."""
        shared = self._memory.shared
        owned = [tensor for tensor, cell in shared.items() if cell in ("tid", "tid ^ 1")]
        if not owned and shared and place.level is Level.BLOCK and place.meets:
            owned = list(shared)[:1]
            self._write(SYNC)
            shared[owned[0]] = "tid"
            self._write(f"{owned[0].name}[tid] = {self._value(owned[0].kind, scope, Level.THREAD)}")
        if not place.has_warp or not owned:
            return self._vote(scope, place)
        tensor = self._choices.choice(owned)
        lane = self._expressions.of(Kind.INT32, scope, 1, Level.THREAD).text
        target = self._names.fresh(variable := Variable(tensor.kind, Level.THREAD))
        self._write("cute.arch.sync_warp()")
        self._write(f"{target} = {tensor.name}[warp * 32 + {lane} % {self._lanes()}]")
        self._write("cute.arch.sync_warp()")
        scope.variables[target] = variable
        return False
