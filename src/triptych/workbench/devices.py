"""`device(name)`: limits that tilings are checked against. An unknown device is an error, never a guess.

Architectures that Triptych compiles for are those of the target's own table; `devices.json` has what that table lacks.
A product has the limits of its architecture, and what `support.device_model` says of it.
"""

from __future__ import annotations

import json
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from triptych.support.dataclass import dataclass
from triptych.support.device_model import PRODUCTS, product_name
from triptych.support.wording import did_you_mean
from triptych.targets.nvptx.description.architectures import ARCHITECTURES, REGISTERS, RESERVED_SHARED
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
    memory: int = 0
    """Bytes of global memory."""
    bandwidth: int = 0
    """Of global memory, in bytes a second."""
    source: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    """Of the host: model, cores, caches."""


def device(name: str) -> Device:
    """By the name of an architecture, a target as `nvptx:sm_80`, a product as `h100`, or `cpu` for this host."""
    wanted = name.removeprefix(_NVPTX)
    if wanted in ("", HOST):
        return _host()
    product = PRODUCTS.get(product_name(wanted))
    if product is None:
        return Device(**_limits(wanted))
    limits = _limits(product.architecture)
    return Device(
        **limits
        | {"name": product.title, "source": f"{product.source}; limits of {product.architecture}: {limits['source']}"},
        multiprocessors=product.multiprocessors,
        l2_bytes=product.cache << 20,
        memory=product.memory << 30,
        bandwidth=product.bandwidth * 10**9,
    )


def device_names() -> list[str]:
    """All that `device` knows."""
    return [HOST, *PRODUCTS, *sorted({*ARCHITECTURES, *_table()["architectures"]})]


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
            instead=did_you_mean(architecture.lower(), device_names()),
        )
    return {
        "name": architecture,
        "architecture": architecture,
        "shared": shared,
        "shared_of_a_block": shared - RESERVED_SHARED,
        "threads": threads,
        "blocks": blocks,
        "registers": REGISTERS,
        "source": (row or {}).get(
            "source", "CUDA C++ Programming Guide, technical specifications per compute capability"
        ),
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
