"""Whether figures of a record hold when they are measured again, and if not, what is different."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from triptych.workbench.measurement.statistics import median_interval
from triptych.workbench.units import time_text

_LEAST = 0.01
"""Less than this is no movement, whatever the samples say."""
_NOISES = 2
_TOO_NOISY = 0.15
"""A figure that may be off by so much neither holds nor moves."""
Facts = Mapping[str, Any]


def moved(stored: Facts, samples: list[float], noise_now: float = 0.0) -> str:
    """How far a kernel is from its record, if by more than the noise of both; empty: it is where it was."""
    if "hot" not in stored:
        return ""
    change, noise = _change(stored, samples, noise_now)
    if abs(change) <= noise:
        return ""
    return f"the baseline itself moved by {100 * math.expm1(change):+.1f} %, more than its noise of {100 * noise:.1f} %"


def held(stored: Facts, found: Facts, before: Facts, now: Facts) -> dict[str, str]:
    """The verdict on a figure that was measured again (`holds`, `faster`, `slower`, `undecided`), and why."""
    change, noise = _change(stored, found["hot"]["samples"], found.get("noise") or 0.0)
    times = f"{time_text(stored['hot']['median'])} then, {time_text(found['hot']['median'])} now"
    size = f"{100 * math.expm1(change):+.1f} %, the noise of both is {100 * noise:.1f} %"
    if noise > _TOO_NOISY:
        return {"verdict": "undecided", "text": f"undecided: {times} ({size}), which hides everything"}
    if abs(change) <= noise:
        return {"verdict": "holds", "text": f"holds: {times} ({size})"}
    reasons = differences(before, now)
    if reasons:
        return {"verdict": "undecided", "text": f"undecided: {times} ({size}), but {'; '.join(reasons)}"}
    verdict = "faster" if change < 0 else "slower"
    return {"verdict": verdict, "text": f"{verdict}: {times} ({size}); the machine and the tools are the same"}


def decided_again(stored: Facts, found: Facts) -> dict[str, str]:
    """Whether two kernels compare as they did."""
    then, now = stored["comparison"], found["comparison"]
    if then["verdict"] == now["verdict"]:
        return {"verdict": "holds", "text": f"holds: {then['verdict']} then and now (then: {then['text']})"}
    return {"verdict": "undecided", "text": f"undecided: {then['verdict']} then ({then['text']}), {now['verdict']} now"}


def differences(before: Facts, now: Facts) -> list[str]:
    """Why figures of two records need not agree."""
    said = []
    for what in ("model", "cores", "affinity", "governor", "python"):
        old, new = before["machine"].get(what), now["machine"].get(what)
        if old != new:
            said.append(f"the {what} was {old}, is {new}")
    for name, old in before["versions"].items():
        new = now["versions"].get(name, "not there")
        if old != new and name != "python":
            said.append(f"{name} was {old}, is {new}")
    loads = [facts["machine"]["load"][0] for facts in (before, now) if facts["machine"]["load"]]
    if loads and max(loads) > now["machine"]["cores"]:
        text = " then, ".join(f"{load:.1f}" for load in loads)
        said.append(f"the machine was busy: load {text} now, on {now['machine']['cores']} cores")
    return said


def _change(stored: Facts, samples: list[float], noise_now: float) -> tuple[float, float]:
    """The logarithm of the ratio of medians, and how much of it is noise."""
    hot, now = stored["hot"], median_interval(np.array(samples))
    widths = [_half_width(hot["low"], hot["high"], hot["median"]), _half_width(now.low, now.high, now.estimate)]
    noise = _NOISES * max(stored.get("noise") or 0.0, noise_now, *widths, _LEAST)
    return math.log(now.estimate / hot["median"]), noise


def _half_width(low: float | None, high: float | None, median: float) -> float:
    if low is None or high is None or not math.isfinite(high - low):
        return 0.0
    return (high - low) / 2 / median
