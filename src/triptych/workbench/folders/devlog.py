"""`triptych devlog add`: an entry with the figures of records, of a version and of the one that it is compared with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triptych.workbench.folders.versions import DEVLOG, UNSAID
from triptych.workbench.units import time_text

_VERDICTS = {"comparison": "verdict, in turns with the version before", "baseline": "verdict against the baseline"}
_STATIC = {"registers": "", "shared": "bytes", "spilled": "bytes", "blocks_at_once": ""}
_SECTIONS = ("Overview", "Source", "Performance", "Patterns Extracted", "Insights")


@dataclass(frozen=True, slots=True)
class Static:
    """What kernels take of a GPU by the assembler's numbers: of this version, and of the one before if known."""

    target: str
    now: Mapping[str, Mapping[str, Any]]
    """By kernel."""
    before: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def entry(
    record: dict[str, Any],
    before: dict[str, Any] | None,
    overview: str,
    compared: dict[str, Any] | None = None,
    static: Static | None = None,
) -> str:
    """One entry, as Markdown; what nobody can know from records is left to be written.

    `compared` is the record of `triptych bench A B`, which has the verdict.
    """
    name = Path(record["file"]).stem
    commit = f", commit {record['commit'][:12]}{' and changes' if record['dirty'] else ''}" if record["commit"] else ""
    texts = {
        "Overview": overview or "What this version does, and why: ...",
        "Source": f"`{name}.py`, digest {record['digest'][:12]}{commit}, measured {record['made']}",
        "Performance": _performance(record, before, compared, static),
        "Patterns Extracted": "- ...",
        "Insights": "- ...",
    }
    return "\n".join([f"\n## {name}\n", *(f"### {section}\n\n{texts[section]}\n" for section in _SECTIONS)])


def add_entry(folder: Path, text: str) -> Path:
    """Append to the devlog of the design that a version's folder belongs to, in the place of what `new` left there."""
    file = devlog_of(folder)
    log = file.read_text(encoding="utf-8") if file.is_file() else ""
    stub = _stub(log, folder.name)
    file.write_text((log.replace(stub, "") if stub else log) + text, encoding="utf-8")
    return file


def planned(folder: Path) -> str:
    """What was written of a version before it was measured: the overview of its entry."""
    file = devlog_of(folder)
    log = file.read_text(encoding="utf-8") if file.is_file() else ""
    text = _stub(log, folder.name).partition(f"## {folder.name}\n")[2].strip()
    return text.replace(UNSAID, "").strip()


def devlog_of(folder: Path) -> Path:
    """The file of a version's design."""
    return folder.parent / DEVLOG if (folder.parent / DEVLOG).is_file() else folder / DEVLOG


def _stub(log: str, version: str) -> str:
    """A section of a version without subsections, at the end: what `new --from` makes, and what a user adds to it."""
    found = re.search(rf"\n## {re.escape(version)}\n(?:(?!\n##).)*\Z", log, re.DOTALL)
    return found[0] if found and "###" not in found[0] else ""


def _performance(
    record: dict[str, Any], before: dict[str, Any] | None, compared: dict[str, Any] | None, static: Static | None
) -> str:
    facts = record["machine"]
    load = f", load {facts['load'][0]:.1f}" if facts["load"] else ""
    lines = ["| case | metric | before | now | delta |", "|---|---|---|---|---|"]
    old = {case["case"]: case for case in before["cases"]} if before is not None else {}
    for case in record["cases"]:
        for metric, value, unit in _metrics(case):
            was = next((past for name, past, _ in _metrics(old.get(case["case"], {})) if name == metric), None)
            lines.append(_row(case["case"], metric, was, value, unit))
    for case in (*record["cases"], *(compared["cases"] if compared is not None else ())):
        for kind in ("comparison", "baseline"):
            if kind in case:
                lines.append(f"| {case['case']} | {_VERDICTS[kind]} | | {case[kind]['text']} | |")
    lines += _static_rows(static) if static is not None else []
    lines += ["", f"{facts['model']}{load}, target {record['target']}."]
    if static is None:
        lines += ["Registers, occupancy and shared memory: not asked for (`--target nvptx:sm_80` needs no GPU)."]
    return "\n".join([*lines, "Durations and share of peak on a GPU: not known, because there was none."])


def _static_rows(static: Static) -> Iterator[str]:
    for kernel, used in static.now.items():
        was = next((one for name, one in static.before.items() if name == kernel), None)
        if was is None and len(static.before) == len(static.now) == 1:
            (was,) = static.before.values()  # the same kernel under the version's name
        for metric, unit in _STATIC.items():
            past, now = (was or {}).get(metric), used.get(metric)
            if now is not None:
                yield _row(f"{kernel}, {static.target}", metric.replace("_", " "), past, now, unit)


def _row(case: str, metric: str, was: float | None, value: float, unit: str) -> str:
    delta = f"{100 * (value / was - 1):+.1f} %" if was else ""
    return f"| {case} | {metric} | {_number(was, unit)} | {_number(value, unit)} | {delta} |"


def _metrics(case: dict[str, Any]) -> list[tuple[str, float, str]]:
    found = [(f"duration, {kind}", case[kind]["median"], "s") for kind in ("hot", "cold") if kind in case]
    work = case.get("work") or {}
    if "of_roof" in work:
        found.append(("share of the roof", 100 * work["of_roof"], "%"))
    return found


def _number(value: float | None, unit: str) -> str:
    if value is None or not math.isfinite(value):
        return ""
    return time_text(value) if unit == "s" else f"{value:.4g} {unit}".rstrip()
