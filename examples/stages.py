"""When things happen: Python's `print` runs once, while the function is traced; `printf` runs in the compiled code.

The same addition three times: of a value known only at run time, of a value known while tracing, and of both.
"""

from __future__ import annotations

import triptych as tt


@tt.jit
def add_dynamicexpr(b: tt.Float32) -> None:
    """`b` is a run-time argument, so Python cannot know the result: it prints as `?`."""
    a = tt.Float32(2.0)
    result = a + b
    print("[meta-stage] result =", result)


@tt.jit
def add_constexpr(b: tt.Constexpr) -> None:
    """Both numbers are Python's, so Python adds them while tracing and nothing is left to run."""
    a = 2.0
    result = a + b
    print("[meta-stage] result =", result)


@tt.jit
def add_hybrid(b: tt.Constexpr) -> None:
    """`b` is known while tracing, but `a` is a run-time number: so is their sum."""
    a = tt.Float32(2.0)
    result = a + b
    print("[meta-stage] result =", result)
    tt.printf("[run time]   result = %f\n", result)


def main() -> None:
    print("dynamic: a direct call traces, compiles and runs")
    add_dynamicexpr(5.0)

    print("constexpr")
    add_constexpr(5.0)

    print("hybrid: compiling runs only the meta-stage")
    compiled = tt.compile(add_hybrid, 5.0)
    print("hybrid: calling the compiled function runs only the compiled code")
    compiled()
    print("hybrid: a direct call finds the compiled function and traces nothing")
    add_hybrid(5.0)
    print("hybrid: a direct call with a new constant does both")
    add_hybrid(6.0)


if __name__ == "__main__":
    main()
