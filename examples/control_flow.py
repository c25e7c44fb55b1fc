"""Leaving early: `continue`, `break`, `return` and a loop's `else` on run-time values, at each stage.

MLIR's structured control flow has no jumps, so the pre-stage turns an early exit into a flag, and what follows it
into the other side of a branch.
"""

from __future__ import annotations

import triptych as tt


@tt.jit
def search(n: tt.Int32, target: tt.Int32) -> tt.Int32:
    """The number at which the sum of numbers that 3 does not divide is `target`.

    0 when the sum went beyond it, -1 when the numbers below `n` are too few.
    """
    total = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        total += i
        if total > target:
            break
        if total == target:
            return i
    else:
        return -1
    return 0


def main() -> None:
    compiled = tt.compile(search, 100, 12)
    for arguments in ((100, 12), (100, 13), (4, 100)):
        print(f"search{arguments} = {compiled(*arguments)}")
    print("\nrewritten Python:\n")
    print(compiled.rewritten)
    print("\nMLIR:\n")
    print(compiled.mlir)


if __name__ == "__main__":
    main()
