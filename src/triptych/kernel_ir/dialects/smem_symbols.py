"""Shared memory symbols: an attribute of the kernel with the name and range of each part, in debug builds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from triptych.ir.builder import Builder
from triptych.ir.handles import Operation
from triptych.support.source import Span

PARTS_ATTRIBUTE = "triptych.shared_parts"


def name_parts(kernel: Operation, builder: Builder, parts: Sequence[tuple[str, int, int, Span | None]]) -> None:
    """Note what each part is, its first byte, its bytes, and where it was allocated."""
    facts = [(what, offset, size, span and asdict(span)) for what, offset, size, span in parts]
    kernel.attributes[PARTS_ATTRIBUTE] = builder.string(json.dumps(facts))
