"""Kernel attributes: the machine that kernels were traced for, the order in which copies and WGMMAs complete, the
names of the parts of shared memory, and what the trace knows of numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict

from triptych.ir.builder import Builder
from triptych.ir.handles import Operation
from triptych.kernel_ir.dialects.kernel_operations import walk
from triptych.kernel_ir.dialects.simt import MBARRIER_INIT
from triptych.support.device_model import COMMON, DeviceModel
from triptych.support.source import Span

FITS = "triptych.fits"
"""Of an `arith.trunci`: a check has made sure that the number stays the same."""
ASYNC_ATTRIBUTE = "triptych.async"
"""Of a `gpu.func`: the order, where it is not `early`."""
EARLY, LATE = "early", "late"
SEED = re.compile(r"seed:(\d+)")


def is_order(text: object) -> bool:
    """Whether a text names an order."""
    return isinstance(text, str) and (text in (EARLY, LATE) or SEED.fullmatch(text) is not None)


def order_of(kernel: Operation) -> str:
    """The order that a kernel is compiled for."""
    return str(kernel.attributes[ASYNC_ATTRIBUTE].value) if ASYNC_ATTRIBUTE in kernel.attributes else EARLY


def seed_of(order: str) -> int | None:
    """The number that chance begins with; None where nothing is left to it."""
    found = SEED.fullmatch(order)
    return None if found is None else int(found[1])


DEVICE = "triptych.device"


def device_attributes(model: DeviceModel) -> dict[str, str]:
    """What a `gpu.module` says of its machine, as MLIR text by name."""
    if (model.lanes, model.threads) == (COMMON.lanes, COMMON.threads):
        return {}
    return {DEVICE: f"{{lanes = {model.lanes} : i32, threads = {model.threads} : i32}}"}


def device_of(kernel: Operation) -> DeviceModel:
    """The machine that a kernel (`gpu.func`) is for, as far as passes count with it."""
    module = kernel.parent
    if module is None or DEVICE not in module.attributes:
        return COMMON
    said = module.attributes[DEVICE]
    return DeviceModel(lanes=said["lanes"].value, threads=said["threads"].value)


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
