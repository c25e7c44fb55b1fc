"""What `triptych tune` prints: how many of each reason, every configuration if asked, failures, and the choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triptych.workbench.tuning.static_facts import facts_text
from triptych.workbench.units import time_text

_SHOWN = 3
"""Configurations that are named of each reason to fail."""


def search_text(found: dict[str, Any], with_table: bool) -> str:
    """The whole answer."""
    lines = [f"{count:5}  {kind}" for kind, count in found["counts"].items()]
    lines += _table(found) if with_table else ()
    lines += _failures(found["rows"])
    compiled = [row["cpu_seconds"] for row in found["rows"] if row["cpu_seconds"]]
    each = f", {sum(compiled):.1f} CPU seconds of compiling {len(compiled)}" if compiled else ""
    each += f" ({min(compiled):.2f} to {max(compiled):.2f} each)" if compiled else ""
    lines.append(f"{len(found['rows'])} configurations for {found['target']} in {found['took']:.1f} s{each}")
    if found["config"] is None:
        lines.append("no choice is made: " + _why_none(found))
    else:
        lines.append(f"best: #{found['winner']} {named(found['config'])}: {time_text(found['seconds'])}, verified")
    return "\n".join(lines)


def named(config: dict[str, Any]) -> str:
    """Parameters as a call has them."""
    return ", ".join(f"{name}={value}" for name, value in config.items())


def _table(found: dict[str, Any]) -> Iterator[str]:
    """Every configuration: its state and reason, the assembler's numbers, CPU seconds."""
    for row in found["rows"]:
        middle = sorted(row["seconds"])[len(row["seconds"]) // 2] if row["seconds"] else None
        what = time_text(middle) if middle else row["reason"]
        facts = row["facts"].get("proof") or facts_text({**row["facts"], "digest": ""})
        proof = f" [{facts}]" if facts and facts not in what else ""
        cost = f", {row['cpu_seconds']:.2f} CPU s" if row["cpu_seconds"] else ""
        yield f"#{row['number']:<4} {named(row['config'])}: {row['state']}, {what}{proof}{cost}"


def _failures(rows: list[dict[str, Any]]) -> Iterator[str]:
    """What failed without being foreseen, by reason."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["state"] == "failed":
            groups.setdefault(row["kind"], []).append(row)
    for same in sorted(groups.values(), key=len, reverse=True):
        yield f"failed, {len(same)} like this: {same[0]['reason']}"
        yield from (f"      #{row['number']} {named(row['config'])}" for row in same[:_SHOWN])
        if len(same) > _SHOWN:
            yield f"      and {len(same) - _SHOWN} more (--table prints them)"


def _why_none(found: dict[str, Any]) -> str:
    if found["target"] != "cpu":
        return "no device for this target is here, and nothing in the table says which is fastest"
    return "none of them could be measured"
