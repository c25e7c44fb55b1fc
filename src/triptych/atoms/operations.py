"""The operation that stands for many matrix instructions at once, until a target writes them out or runs them whole.

    tile.mma %d, %a, %b, %c {instruction, tiles = [M, N, K], d, a, b, c} : arrays that each thread has for itself

`a` says for every instruction (m, k) and each of its registers where the register begins in the array of A, counted in
elements: `a[(m + M * k) * registers + r]`. Likewise `b` for (n, k), `c` and `d` for (m, n). The meaning: for k, n, m in
turn D(m, n) = A(m, k) * B(n, k) + C(m, n), where from the second k on D takes the place of C.
"""

from __future__ import annotations

from triptych.ir.dialect import Dialect, OperationSpec

MMA = "tile.mma"
TILE = Dialect("tile", (OperationSpec("mma", operands=("!llvm.ptr",) * 4),))
