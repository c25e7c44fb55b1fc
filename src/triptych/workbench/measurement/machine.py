"""Machine facts that stand beside a figure: model, what else it was doing, its roofs. Standard library only."""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.support.dataclass import dataclass
from triptych.support.processors import processor_model
from triptych.workbench.kernel_files import kept_folder

_CPU = Path("/sys/devices/system/cpu")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """One level of caches, all of the machine's together."""

    level: int
    bytes: int
    """Of one."""
    count: int

    @property
    def total(self) -> int:
        """Bytes of all of them."""
        return self.bytes * self.count


def caches() -> list[CacheLevel]:
    """Data caches as the system tells them; empty where it does not."""
    found: dict[int, dict[str, int]] = {}
    for index in _CPU.glob("cpu[0-9]*/cache/index*"):
        if _read(index / "type") not in ("Data", "Unified"):
            continue
        text = _read(index / "size")
        size = int(text[:-1]) * _UNITS[text[-1]] if text and text[-1] in _UNITS else 0
        found.setdefault(int(_read(index / "level") or 0), {})[_read(index / "shared_cpu_list")] = size
    return [CacheLevel(level, max(sizes.values()), len(sizes)) for level, sizes in sorted(found.items()) if level]


def last_cache() -> int:
    """Bytes of the last level, all of it; 0 where the system does not tell."""
    levels = caches()
    return levels[-1].total if levels else 0


def machine() -> dict[str, Any]:
    """What a reader of a figure has to know."""
    return {
        "model": processor_model(),
        "cores": os.cpu_count() or 1,
        "affinity": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else [],
        "governor": _read(_CPU / "cpu0/cpufreq/scaling_governor") or "unknown",
        "caches": [asdict(level) for level in caches()],
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def vector_bits() -> int:
    """The widest vectors of the processor; 0 where the system does not tell."""
    flags = set(re.findall(r"\b(avx512f|avx2|avx|sse2|asimd)\b", _read(Path("/proc/cpuinfo"))))
    widths = {"avx512f": 512, "avx2": 256, "avx": 256, "sse2": 128, "asimd": 128}
    return max((widths[flag] for flag in flags), default=0)


def free_memory() -> int:
    """Bytes that can be had."""
    match = re.search(r"MemAvailable:\s+(\d+) kB", _read(Path("/proc/meminfo")))
    return int(match[1]) * 1024 if match else 1 << 30


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:  # not told on this machine
        return ""


def kept_roofs() -> dict[str, Any] | None:
    """Those that were measured here before, however long ago; nothing is measured."""
    file = roofs_file()
    kept = dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None
    return kept if kept and kept.get("model") == machine()["model"] else None


def roofs_file() -> Path:
    return kept_folder() / "roofs.json"
