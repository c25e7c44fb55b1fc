"""Functions that copy boxes are texts put together of parts: whatever a box is, they fit together.

What they copy is compared with NumPy in tests/unit/cute/copies/test_tma_copies.py.
"""

from __future__ import annotations

import re
from itertools import product

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.kernel_ir.dialects.smem_operands import SWIZZLES
from triptych.targets.cpu.emit.tma_functions import LOAD, STORE, BoxCopy, box_function

_JOINED = ("add", "min", "max")


def _copies() -> list[BoxCopy]:
    """Every rank, swizzle and length of rows (one of a line, shorter, longer), each way; and boxes that maps know."""
    found = []
    for rank, swizzle, row, (kind, element) in product(
        range(1, 6), SWIZZLES, (16, 64, 128, 256), [(LOAD, ""), (STORE, ""), *((kind, "f32") for kind in _JOINED)]
    ):
        found.append(BoxCopy(kind, (row // 4, *(2,) * (rank - 1)), 4, swizzle, element))
    return found + [BoxCopy(LOAD, (0,) * rank, 4, 0) for rank in range(1, 6)]


def test_the_parts_of_every_function_fit_together() -> None:
    copies = {copy.name: copy for copy in _copies()}
    with context():
        for copy in copies.values():
            module = bindings.mlir().Module.parse(box_function(copy))
            assert module.operation.verify(), copy


def test_a_row_is_asked_for_from_its_end() -> None:
    """Rows rarely begin with a line of the cache: the box before has brought the line in which this one begins."""
    asked = box_function(BoxCopy(LOAD, (64, 128), 2, 3))
    places = re.findall(r"getelementptr %row_ahead\[(\d+)\]", asked)
    assert list(map(int, places)) == [127, 63]
