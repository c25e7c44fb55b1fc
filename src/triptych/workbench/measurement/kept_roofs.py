"""Roofs that were measured on this host before: reading them loads nothing that measuring needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from triptych.workbench.kept_files import kept_folder
from triptych.workbench.measurement.machine import machine


def kept_roofs() -> dict[str, Any] | None:
    """Those that were measured here before, however long ago; nothing is measured."""
    file = roofs_file()
    kept = dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None
    return kept if kept and kept.get("model") == machine()["model"] else None


def roofs_file() -> Path:
    return kept_folder() / "roofs.json"
