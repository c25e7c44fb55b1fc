"""Tuning results: the state of a configuration, a reason, samples, and what the assembler says.

None is ever left out.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypeAlias

from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError

State: TypeAlias = Literal["pruned", "failed", "equal", "compiled", "measured", "skipped"]
Config: TypeAlias = Mapping[str, Any]

Space: TypeAlias = Mapping[str, Sequence[Any]] | Sequence[Config]
"""Names with their values, or configurations one by one."""

_KINDS = {
    "shared memory": ("shared memory",),
    "spills": ("spill",),
    "occupancy": ("occupancy",),
    "equal code": ("the same code as",),
    "registers": ("registers",),
    "clusters": ("cluster",),
    "threads": ("threads", "warps"),
    "not a multiple": ("is no multiple of",),
    "wrong result": ("wrong result",),
    "time limit": ("it took longer than",),
    "the process died": ("the process ended", "the process that compiled ended", "stopped its worker", "WorkerCrashed"),
    "not asked for": ("did not ask for it",),
}
"""Reasons by words in them; the first that fits."""


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration."""

    number: int
    config: Config
    state: State
    reason: str
    """Why it was left out, how it failed, which one it equals, or what is known of it."""
    seconds: list[float] = field(default_factory=list)
    """Samples of one call."""
    cpu_seconds: float = 0.0
    """Spent on compiling it."""
    facts: dict[str, Any] = field(default_factory=dict)
    """The assembler's numbers."""
    foreseen: bool = False
    """Left out by a rule that needs no compilation."""

    @property
    def best(self) -> float:
        """The middle of its samples."""
        ordered = sorted(self.seconds)
        return ordered[len(ordered) // 2] if ordered else float("inf")

    @property
    def kind(self) -> str:
        """The reason without its numbers, to count by."""
        return kind_of(self.state, self.reason)


def kind_of(state: str, reason: str) -> str:
    """Of a reason: a word of the table above, else its own words without numbers."""
    if state in ("measured", "compiled"):
        return state
    known = next((kind for kind, words in _KINDS.items() if any(word in reason for word in words)), "")
    words = (word for word in reason.split() if not any(letter.isdigit() for letter in word))
    return known or " ".join(words)[:70]


def configs_of(space: Space) -> list[dict[str, Any]]:
    """Every combination of names with their values, or the configurations as they are listed."""
    if isinstance(space, Mapping):
        return [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]
    return [dict(each) for each in space]


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """How many there are of each kind, most first; what a rule foresaw stands for itself."""
    kinds = Counter(_named(row) for row in rows)
    return dict(sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0])))


def _named(row: Row) -> str:
    if row.kind == row.state:
        return row.state
    return f"{row.state}{' by a rule' if row.foreseen else ''}: {row.kind}"


def failure(error: BaseException) -> str:
    """An exception in one line."""
    text = error.title if isinstance(error, TriptychError) else (str(error).strip().splitlines() or [""])[0]
    numbers = [error.found, error.expected] if isinstance(error, TriptychError) else []
    known = ", ".join(each.splitlines()[0] for each in numbers if each)
    return f"{type(error).__name__}: {text}" + (f" ({known})" if known else "")
