"""What a person reads of a verification, from plain data; standard library only."""

from __future__ import annotations

from typing import Any

from triptych.workbench.units import ulps_text


def text_of(found: dict[str, Any]) -> str:
    """What a person reads."""
    seeds = len(found["seeds"])
    lines = [f"{found['verdict'].upper()}  {found['file']}  ({found['kernel']}, {seeds} seed{'s' * (seeds != 1)})"]
    lines += [f"  checkers: {found['checked']}: nothing found"] if found.get("checked") else []
    lines += [f"  bound: {found['bound']}"] if found["bound"] else []
    for case, outputs in found["numbers"].items():
        for one in outputs:
            shape = " x ".join(map(str, one["shape"])) or "scalar"
            lines.append(
                f"  {case}: output {one['output']} {one['dtype']} {shape}: error {one['absolute']:.3g}, relative "
                f"{one['relative']:.3g}, {ulps_text(one['ulps'])}, {one['of_bound']:.2f} of the bound"
            )
    for finding in found["findings"]:
        seed = f", seed {finding['seed']}" if finding["seed"] is not None else ""
        place = f" ({finding['case']}{seed})" if finding["case"] else ""
        if "\n" in finding["text"]:
            lines += [f"  {finding['reason']}{place}:", *(f"    {line}" for line in finding["text"].splitlines())]
            continue
        lines.append(f"  {finding['reason']}: {finding['text']}{place}")
    return "\n".join([*lines, f"  {found['seconds']:.1f} s"])
