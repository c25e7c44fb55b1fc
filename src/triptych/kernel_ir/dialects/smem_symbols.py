"""Shared memory symbols: attributes with the name and range of each part of a kernel, and the name of each mbarrier."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from triptych.ir.builder import Builder
from triptych.ir.handles import Operation
from triptych.kernel_ir.dialects.kernel_operations import walk
from triptych.kernel_ir.dialects.simt import MBARRIER_INIT
from triptych.support.source import Span

PARTS_ATTRIBUTE = "triptych.shared_parts"


def name_parts(kernel: Operation, builder: Builder, parts: Sequence[tuple[str, int, int, Span | None]]) -> None:
    """Note what each part is, its first byte, its bytes, and where it was allocated."""
    facts = [(what, offset, size, span and asdict(span)) for what, offset, size, span in parts]
    kernel.attributes[PARTS_ATTRIBUTE] = builder.string(json.dumps(facts))


# Mbarrier names: attributes of the operations that initialize them, for reports.
#
# Input: a kernel. Output: a name for the offset in shared memory of every barrier whose place is known while tracing.
OFFSET, STORAGE = "offset", "storage"
"""Attributes of `simt.mbarrier_init`: bytes from the start of shared memory, and what is there."""


def barrier_names(kernel: Operation) -> dict[int, str]:
    """By offset."""
    found = [each.attributes for each in walk(kernel) if each.name == MBARRIER_INIT and STORAGE in each.attributes]
    return {int(attributes[OFFSET].value): str(attributes[STORAGE].value) for attributes in found}
