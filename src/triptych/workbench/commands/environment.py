"""`triptych env`: every setting, its value, and where the value came from."""

from __future__ import annotations

import json

from triptych.support.config import current_settings
from triptych.support.setting import Value


def environment(*, as_json: bool = False) -> str:
    """The table of settings as text or JSON."""
    rows = current_settings()
    if as_json:
        records = [
            {
                "name": setting.name,
                "variable": setting.variable,
                "value": setting.shown(value),
                "default": setting.default,
                "origin": origin,
                "aliases": [alias.variable for alias in setting.aliases],
                "help": setting.help,
            }
            for setting, value, origin in rows
        ]
        return json.dumps(records, indent=2)
    assignments = [f"{setting.variable}={_spelled(setting.shown(value))}" for setting, value, _ in rows]
    assignment_width = max(map(len, assignments))
    origin_width = max(len(origin) for *_, origin in rows)
    return "\n".join(
        f"{assignment:<{assignment_width}}  {origin:<{origin_width}}  {setting.help}"
        for assignment, (setting, _, origin) in zip(assignments, rows, strict=True)
    )


def _spelled(value: Value) -> str:
    """As a shell would take it back."""
    return str(int(value)) if isinstance(value, bool) else str(value)
