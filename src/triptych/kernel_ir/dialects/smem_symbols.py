"""What the parts of a kernel's shared memory are called, as an attribute of the kernel: debug builds name them."""

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
