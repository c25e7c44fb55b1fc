"""Tuning session in this process: each configuration that the search proposes is tried, and ends in a row.

What fails is told in a warning, grouped by reason: a configuration that disappears is one that nobody repairs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

from triptych.cute.tuning.rows import Config, Row, failure
from triptych.cute.tuning.search import Search
from triptych.support.errors import TriptychWarning
from triptych.support.tracebacks import caller

_SHOWN = 3


class TuningWarning(TriptychWarning):
    """Some configurations could not be tried; the choice is among the others."""


def try_all(
    search: Search, configs: Sequence[Config], sample: Callable[[Config, int], Sequence[float]], name: str
) -> tuple[int, list[Row]]:
    """The best configuration and a row for each; what the last one raised, if none runs.

    `sample(config, count)` gives so many samples; 0: as many as it thinks right.
    """
    rows: dict[int, Row] = {}
    last: Exception | None = None
    while trials := search.ask():
        for number, samples in trials:
            row = rows.get(number) or Row(number, configs[number], "measured", "measured")
            if row.state == "measured" and (not row.seconds or samples > len(row.seconds)):
                try:
                    new = sample(configs[number], max(0, samples - len(row.seconds)))
                    row = replace(row, seconds=[*row.seconds, *new])
                except Exception as error:  # of one configuration, which stays in the table
                    row, last = replace(row, state="failed", reason=failure(error)), error
            rows[number] = row
            search.tell(number, row.seconds if row.state == "measured" else None)
    finalists = search.finalists()
    if not finalists:
        assert last is not None, "a search has configurations"
        for reason, numbers in _failures(rows).items():
            last.add_note(f"{name}: {len(numbers)} of {len(configs)} configurations failed: {reason}")
        raise last
    _warn(rows, configs, name)
    return finalists[0], [rows.get(n) or _unasked(n, config) for n, config in enumerate(configs)]


def _warn(rows: dict[int, Row], configs: Sequence[Config], name: str) -> None:
    for reason, numbers in _failures(rows).items():
        some = "; ".join(str(dict(configs[number])) for number in numbers[:_SHOWN])
        more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
        text = f"{name}: {len(numbers)} of {len(configs)} configurations failed: {reason} ({some}{more})"
        span = caller()
        warnings.warn_explicit(text, TuningWarning, span.file if span else __file__, span.line if span else 1)


def _failures(rows: dict[int, Row]) -> dict[str, list[int]]:
    """Numbers by reason, numbers in the reasons left out."""
    groups: dict[str, list[Row]] = {}
    for number in sorted(rows):
        if rows[number].state == "failed":
            groups.setdefault(rows[number].kind, []).append(rows[number])
    return {same[0].reason: [row.number for row in same] for same in groups.values()}


def _unasked(number: int, config: Config) -> Row:
    return Row(number, config, "skipped", "the search did not ask for it")
