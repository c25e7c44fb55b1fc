"""Waits for copies into LDS, proven from the assembly: what a program has waited for is there when it is read.

Input: LLVM's assembly for gfx9, with comments. Output: the places where a read of LDS, or a barrier behind which others
read, comes before copies that the program has waited for. A wave counts its accesses to memory, and they end in order:
`s_waitcnt vmcnt(n)` leaves at most the last n. So a copy is there if, on every way, at least n further accesses began
between it and such a wait.

Where a group of copies is closed, and what a wait of the program leaves, are comments that the lowering has put there:
`sched_barrier` with the masks of `copies_into_lds`. Waits of LLVM's own count as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from triptych.support.dataclass import dataclass
from triptych.targets.amdgpu.passes.copies_into_lds import COMMIT_MASK, groups_left

_FUNCTION = re.compile(r"^(\w[\w.$]*):[^\n]*\n(.*?)^\.Lfunc_end\d+:", re.DOTALL | re.MULTILINE)
_LABEL = re.compile(r"^(\.LBB\w+):")
_MARK = re.compile(r"; sched_barrier mask\(0x([0-9A-Fa-f]+)\)")
_COUNT = re.compile(r"vmcnt\((\d+)\)")
_COPY = re.compile(r"^(?:global|buffer)_load_(?:lds_\w+ |\w+ .*\blds$)")
_ACCESS = re.compile(r"^(?:global|buffer|scratch)_(?:load|store|atomic)")
_READ = re.compile(r"^ds_(?:read|load)")
_JUMP = re.compile(r"^s_(c?)branch\w* (\.LBB\w+)")
_ENDS = ("s_endpgm", "s_setpc", "s_trap")
_ALL_COUNTED = 63
_OLDEST = 40
"""Groups that are older are not told apart."""


@dataclass(frozen=True, slots=True)
class UnprovenRead:
    """A read, or a barrier, that comes too early on some way."""

    kernel: str
    line: int
    """In the assembly, from 1."""
    instruction: str
    group: int
    """How many commits ago the group was closed whose copies may be under way."""
    left: int
    """How many groups the program's last wait leaves."""


State = dict[int, dict[int, int]]
"""By how many groups may be under way here (-1 before the first wait): the groups that have copies under way, by the
number of commits since, each with the fewest accesses that have begun after its last copy."""
_NO_WAIT = -1


@dataclass(frozen=True, slots=True)
class _Step:
    """An instruction or a mark."""

    line: int
    text: str


def unproven_reads(assembly: str) -> list[UnprovenRead]:
    """All of them, in all kernels; nothing if every one is behind its wait."""
    found: list[UnprovenRead] = []
    for function in _FUNCTION.finditer(assembly):
        if _MARK.search(function[2]):
            first = assembly.count("\n", 0, function.start(2)) + 1
            found += _KernelWaits(function[1], function[2], first).findings()
    return found


class _KernelWaits:
    """The blocks of a kernel, and what is under way where each begins."""

    def __init__(self, name: str, text: str, first_line: int) -> None:
        self._name = name
        self._blocks: dict[str, list[_Step]] = {"": []}
        current = self._blocks[""]
        for number, line in enumerate(text.splitlines(), start=first_line):
            label = _LABEL.match(line)
            if label is not None:
                current = self._blocks[label[1]] = []
                continue
            mark = _MARK.search(line)
            code = mark[0] if mark is not None else line.split(";")[0].strip()
            if code and not code.startswith("."):
                current.append(_Step(number, code))
        self._order = list(self._blocks)

    def findings(self) -> list[UnprovenRead]:
        entering: dict[str, State] = {"": {_NO_WAIT: {}}}
        pending = [""]
        while pending:
            label = pending.pop()
            for target, state in self._run(label, entering[label], None):
                known = entering.get(target)
                joined = state if known is None else _joined(known, state)
                if joined != known:
                    entering[target] = joined
                    pending.append(target)
        found: dict[int, UnprovenRead] = {}
        for label, state in entering.items():
            list(self._run(label, state, found))
        return list(found.values())

    def _run(self, label: str, state: State, found: dict[int, UnprovenRead] | None) -> Iterator[tuple[str, State]]:
        """The blocks that may follow, each with what is under way there."""
        state = {left: dict(groups) for left, groups in state.items()}
        for step in self._blocks[label]:
            jump = _JUMP.match(step.text)
            if jump is not None:
                yield jump[2], {left: dict(groups) for left, groups in state.items()}
                if not jump[1]:
                    return
            elif step.text.startswith(_ENDS):
                return
            else:
                if found is not None and (_READ.match(step.text) or step.text.startswith("s_barrier")):
                    self._check(step, state, found)
                state = _after(step.text, state)
        following = self._order.index(label) + 1
        if following < len(self._order):
            yield self._order[following], state

    def _check(self, step: _Step, state: State, found: dict[int, UnprovenRead]) -> None:
        for left, groups in state.items():
            late = [group for group in groups if left != _NO_WAIT and group > left]
            if late:
                found[step.line] = UnprovenRead(self._name, step.line, step.text, max(late), left)


def _after(text: str, state: State) -> State:
    """What is under way behind an instruction."""
    if _COPY.match(text):
        return {left: {**_counted(groups), 0: 0} for left, groups in state.items()}
    if _ACCESS.match(text):
        return {left: _counted(groups) for left, groups in state.items()}
    if text.startswith("s_waitcnt"):
        count = _waited(text)
        if count is None:
            return state
        return {left: {age: after for age, after in groups.items() if after < count} for left, groups in state.items()}
    mark = _MARK.match(text)
    if mark is None:
        return state
    kind = int(mark[1], 16)
    remaining = groups_left(kind)
    if kind == COMMIT_MASK:
        return _united(
            (_NO_WAIT if left == _NO_WAIT else min(left + 1, _OLDEST), _older(groups)) for left, groups in state.items()
        )
    return state if remaining is None else _united((remaining, groups) for groups in state.values())


def _waited(text: str) -> int | None:
    """How many accesses a wait leaves; None for one that does not look at them."""
    counted = _COUNT.search(text)
    if counted is not None:
        return int(counted[1])
    word = text.split()[-1]
    return 0 if word == "0" else None


def _counted(groups: Mapping[int, int]) -> dict[int, int]:
    return {age: min(after + 1, _ALL_COUNTED) for age, after in groups.items()}


def _older(groups: Mapping[int, int]) -> dict[int, int]:
    aged: dict[int, int] = {}
    for age, after in groups.items():
        older = min(age + 1, _OLDEST)
        aged[older] = min(after, aged.get(older, after))
    return aged


def _united(parts: Iterator[tuple[int, dict[int, int]]]) -> State:
    """States with equal keys become one that covers both."""
    united: State = {}
    for left, groups in parts:
        united = _joined(united, {left: groups})
    return united


def _joined(first: State, second: State) -> State:
    """What may be under way on either of two ways."""
    joined = {left: dict(groups) for left, groups in first.items()}
    for left, groups in second.items():
        known = joined.setdefault(left, {})
        for age, after in groups.items():
            known[age] = min(after, known.get(age, after))
    return joined
