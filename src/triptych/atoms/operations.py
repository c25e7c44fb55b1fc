"""Dialect `tile`: what a warp does with small matrices, until a target writes instructions for it or runs it whole.

    tile.mma %d, %a, %b, %c {instruction, tiles = [M, N, K], d, a, b, c} : arrays that each thread has for itself

stands for many matrix instructions at once. `a` says for every instruction (m, k) and each of its registers where the
register begins in the array of A, counted in elements: `a[(m + M * k) * registers + r]`. Likewise `b` for (n, k), `c`
and `d` for (m, n). The meaning: for k, n, m in turn D(m, n) = A(m, k) * B(n, k) + C(m, n), where from the second k on D
takes the place of C.

    %register, ... = tile.load_matrix %row {instruction}
    tile.store_matrix %row, %register, ... {instruction}

move matrices between shared memory, where each thread gives the address of a row, and registers of 32 bits.
`instruction` is the name of an entry among `triptych.atoms`, which says who holds what.
"""

from __future__ import annotations

from triptych.ir.dialect import AttributeSpec, Dialect, OperationSpec
from triptych.ir.types import SHARED_SPACE, pointer_to

MMA = "tile.mma"
LOAD_MATRIX = "tile.load_matrix"
STORE_MATRIX = "tile.store_matrix"

WARP_THREADS = 32
"""Threads that execute an instruction of a warp together: all entries are NVIDIA's, and so is this number.
Machines with other warps have other instructions."""

_INSTRUCTION = AttributeSpec("instruction")
_SHARED = pointer_to(SHARED_SPACE)
_TABLES = tuple(AttributeSpec(name) for name in ("tiles", "d", "a", "b", "c"))

TILE = Dialect(
    "tile",
    (
        OperationSpec("mma", operands=("!llvm.ptr",) * 4, attributes=(_INSTRUCTION, *_TABLES)),
        OperationSpec("load_matrix", operands=(_SHARED,), results=("i32*",), attributes=(_INSTRUCTION,)),
        OperationSpec("store_matrix", operands=(_SHARED, "i32*"), attributes=(_INSTRUCTION,)),
    ),
)
