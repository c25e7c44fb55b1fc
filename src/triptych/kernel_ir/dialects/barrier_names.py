"""Mbarrier names: attributes of the operations that initialize them, for reports.

Input: a kernel. Output: a name for the offset in shared memory of every barrier whose place is known while tracing.
"""

from __future__ import annotations

from triptych.ir.handles import Operation
from triptych.kernel_ir.dialects.kernel_operations import walk
from triptych.kernel_ir.dialects.simt import MBARRIER_INIT

OFFSET, STORAGE = "offset", "storage"
"""Attributes of `simt.mbarrier_init`: bytes from the start of shared memory, and what is there."""


def barrier_names(kernel: Operation) -> dict[int, str]:
    """By offset."""
    found = [each.attributes for each in walk(kernel) if each.name == MBARRIER_INIT and STORAGE in each.attributes]
    return {int(attributes[OFFSET].value): str(attributes[STORAGE].value) for attributes in found}
