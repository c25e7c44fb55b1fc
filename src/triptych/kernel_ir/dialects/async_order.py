"""Asynchronous completion order of copies and WGMMAs: an attribute of kernels, for machines that can choose.

`early`: where they are asked for, as if the machine were infinitely fast. `late`: the oldest, and only when no warp can
go on without it, or somebody waits for it. `seed:<n>`: any of them, at moments drawn by chance. A program that waits
for all that it must wait for computes the same in every order.
"""

from __future__ import annotations

import re

from triptych.ir.handles import Operation

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
