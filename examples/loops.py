"""Two loops over the same numbers: `range` loops in the compiled code, `range_constexpr` while the code is made."""

from __future__ import annotations

import triptych as tt


@tt.jit
def powers_in_a_loop(x: tt.Int32) -> tt.Int32:
    """One `scf.for`, even though the bounds are Python numbers."""
    total = 0
    for i in range(4):
        total = total * x + i
    return total


@tt.jit
def powers_unrolled(x: tt.Int32) -> tt.Int32:
    """Python runs this loop: four bodies, and `i` is a constant in each."""
    total = 0
    for i in tt.range_constexpr(4):
        total = total * x + i
    return total


def main() -> None:
    for function in (powers_in_a_loop, powers_unrolled):
        compiled = tt.compile(function, 10)
        print(compiled.mlir)
        print(f"{function.__name__}(10) = {compiled(10)}\n")


if __name__ == "__main__":
    main()
