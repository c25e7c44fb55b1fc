"""`device(name)`: limits that tilings are checked against. An unknown device is an error, never a guess.

Architectures that Triptych compiles for are those of the target's own table; `devices.json` has what that table lacks.
Products (clock, bandwidth, peaks) are not there: each number of theirs would need its data sheet.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from triptych.support.nearest import did_you_mean
from triptych.targets.nvptx.architectures import ARCHITECTURES, REGISTERS, RESERVED_SHARED
from triptych.workbench.errors import UnknownDeviceError
from triptych.workbench.measurement.machine import last_cache, machine

HOST = "cpu"
_NVPTX = "nvptx:"
_THREADS_OF_A_BLOCK, _REGISTERS_OF_A_THREAD = 1024, 255


@dataclass(frozen=True, slots=True)
class Device:
    """What one kind of machine gives to kernels; 0 is what it does not limit, or nobody has said."""

    name: str
    architecture: str
    shared: int = 0
    """Bytes of shared memory of a multiprocessor."""
    shared_of_a_block: int = 0
    threads: int = 0
    """Of a multiprocessor."""
    blocks: int = 0
    """Of a multiprocessor."""
    threads_of_a_block: int = _THREADS_OF_A_BLOCK
    registers: int = 0
    """Of a multiprocessor."""
    registers_of_a_thread: int = _REGISTERS_OF_A_THREAD
    multiprocessors: int = 0
    l2_bytes: int = 0
    source: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    """Of the host: model, cores, caches."""


def device(name: str) -> Device:
    """By the name of an architecture, a target as `nvptx:sm_80`, or `cpu` for this host."""
    wanted = name.removeprefix(_NVPTX)
    if wanted in ("", HOST):
        return _host()
    return Device(**_limits(wanted))


def device_names() -> list[str]:
    """All that `device` knows."""
    return [HOST, *sorted({*ARCHITECTURES, *_table()["architectures"]})]


def _limits(architecture: str) -> dict[str, Any]:
    known = ARCHITECTURES.get(architecture)
    row = _table()["architectures"].get(architecture)
    if known is not None:
        shared, threads, blocks = known.shared, known.threads, known.blocks
    elif row is not None:
        shared, threads, blocks = row["shared"], row["threads"], row["blocks"]
    else:
        raise UnknownDeviceError(
            f"there is no device {architecture!r}",
            expected=f"one of {', '.join(device_names())}",
            instead=did_you_mean(architecture, device_names()),
        )
    return {
        "name": architecture,
        "architecture": architecture,
        "shared": shared,
        "shared_of_a_block": shared - RESERVED_SHARED,
        "threads": threads,
        "blocks": blocks,
        "registers": REGISTERS,
        "source": (row or {}).get("source", "the NVIDIA target's table of architectures"),
    }


def _host() -> Device:
    facts = machine()
    return Device(
        facts["model"],
        HOST,
        multiprocessors=facts["cores"],
        l2_bytes=last_cache(),
        source="read from the system",
        facts={"caches": facts["caches"], "cores": facts["cores"]},
    )


@cache
def _table() -> dict[str, Any]:
    return dict(json.loads(Path(__file__).with_name("devices.json").read_text(encoding="utf-8")))
