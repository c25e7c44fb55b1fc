"""`triptych devlog add`: an entry with the figures of records, of a version and of the one that it is compared with."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from triptych.workbench.folders.versions import DEVLOG

_SECTIONS = ("Overview", "Source", "Performance", "Patterns Extracted", "Insights")


def entry(record: dict[str, Any], before: dict[str, Any] | None, overview: str) -> str:
    """One entry, as Markdown; what nobody can know from records is left to be written."""
    name = Path(record["file"]).stem
    commit = f", commit {record['commit'][:12]}{' and changes' if record['dirty'] else ''}" if record["commit"] else ""
    texts = {
        "Overview": overview or "What this version does, and why: ...",
        "Source": f"`{name}.py`, digest {record['digest'][:12]}{commit}, measured {record['made']}",
        "Performance": _performance(record, before),
        "Patterns Extracted": "- ...",
        "Insights": "- ...",
    }
    return "\n".join([f"\n## {name}\n", *(f"### {section}\n\n{texts[section]}\n" for section in _SECTIONS)])


def add_entry(folder: Path, text: str) -> Path:
    """Append to the devlog of the design that a version's folder belongs to."""
    file = folder.parent / DEVLOG if (folder.parent / DEVLOG).is_file() else folder / DEVLOG
    with file.open("a", encoding="utf-8") as log:
        log.write(text)
    return file


def _performance(record: dict[str, Any], before: dict[str, Any] | None) -> str:
    facts = record["machine"]
    load = f", load {facts['load'][0]:.1f}" if facts["load"] else ""
    lines = ["| case | metric | before | now | delta |", "|---|---|---|---|---|"]
    old = {case["case"]: case for case in before["cases"]} if before is not None else {}
    for case in record["cases"]:
        for metric, value, unit in _metrics(case):
            was = next((past for name, past, _ in _metrics(old.get(case["case"], {})) if name == metric), None)
            delta = f"{100 * (value / was - 1):+.1f} %" if was else ""
            lines.append(f"| {case['case']} | {metric} | {_number(was, unit)} | {_number(value, unit)} | {delta} |")
        for kind in ("comparison", "baseline"):
            if kind in case:
                lines.append(f"| {case['case']} | verdict | | {case[kind]['text']} | |")
    lines += ["", f"{facts['model']}{load}, target {record['target']}."]
    lines += ["Registers, occupancy and shared memory: not known, because no GPU ran it."]
    return "\n".join(lines)


def _metrics(case: dict[str, Any]) -> list[tuple[str, float, str]]:
    found = [(f"duration, {kind}", case[kind]["median"] * 1e6, "µs") for kind in ("hot", "cold") if kind in case]
    work = case.get("work") or {}
    if "of_roof" in work:
        found.append(("share of the roof", 100 * work["of_roof"], "%"))
    return found


def _number(value: float | None, unit: str) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.4g} {unit}"
