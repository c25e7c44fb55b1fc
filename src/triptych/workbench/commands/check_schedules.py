"""`triptych check --schedules N`: the program runs again with its blocks and warps in other orders.

What it leaves behind is compared bit by bit with the first run. Where that differs although no race was found, the
difference is a finding: sums of floats by atomics do that, and so do orders that the checkers do not know.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Any

from triptych.sanitizer.checkers import in_order
from triptych.sanitizer.finding_errors import ScheduleError
from triptych.sanitizer.findings import Collection, collecting
from triptych.support.config import override
from triptych.workbench.commands.checked_program import Outcome, Program


def other_orders(
    program: Program, first: Outcome, words: str, count: int, seed: int, found: Collection
) -> BaseException | None:
    """Run in `count` orders, the first of them that of `seed`. Findings are added; returned is what ends it all."""
    expected = _bits(first)
    for order in range(seed, seed + count):
        settings = override(debug=f"{words},{in_order(order)}", block_order=f"shuffled:{order}")
        with settings, collecting() as collection:
            try:
                with redirect_stdout(sys.stderr):
                    outcome = program()
            except Exception as raised:  # of the user's program, in this order only
                return raised
        found.take(collection)
        name = _different(expected, _bits(outcome))
        if name and not found.faults:
            return ScheduleError(
                f"{name} depends on the order in which blocks and warps run, and no race was found",
                found=f"other bits in order {order} than by number, of {count} orders",
                expected="the same bits in every order",
                instead="an order of your own where one is due: a fixed place for each block and one sum at the end, "
                "in place of atomic sums of floats",
                notes=[f"again: `triptych check --schedules 1 --seed {order}`"],
            )
    return None


def _different(expected: dict[str, bytes], found: dict[str, bytes]) -> str:
    """The first name whose bits are others."""
    return next((name for name, bits in expected.items() if found.get(name, bits) != bits), "")


def _bits(outcome: Outcome) -> dict[str, bytes]:
    """Everything that has bits: arrays, tensors, numbers, texts, and tuples and lists of them."""
    found: dict[str, bytes] = {}
    for name, value in outcome.items():
        if name.startswith("__"):
            continue
        parts = value if isinstance(value, tuple | list) else [value]
        bits = [_bits_of(part) for part in parts]
        if bits and all(each is not None for each in bits):
            found[name] = b"".join(each for each in bits if each is not None)
    return found


def _bits_of(value: Any) -> bytes | None:
    if isinstance(value, str | int | float | bool):
        return repr(value).encode()
    if hasattr(value, "detach") and hasattr(value, "untyped_storage"):
        return bytes(value.detach().contiguous().clone().untyped_storage())
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        bits: bytes = value.tobytes()
        return bits
    return None
