"""Objects in compiled code: they flatten to numbers at the border and around branches and loops.

A dataclass and a NamedTuple are arguments, loop variables and results. A class is a Constexpr: which method runs is
decided while tracing, so neither the class nor the call is in the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import triptych as tt


@dataclass(frozen=True)
class Point:
    """Two numbers; methods of user classes are ordinary Python, inlined where they are called."""

    x: Any
    y: Any

    def moved(self, dx: Any, dy: Any) -> Point:
        return Point(self.x + dx, self.y + dy)

    def norm1(self) -> Any:
        return abs(self.x) + abs(self.y)


class Walk(NamedTuple):
    """What a walk came to."""

    end: Point
    steps: Any


@tt.jit
def walk(start: Point, limit: tt.Int32) -> Walk:
    """Walk away from the origin until the distance reaches `limit`."""
    point = start
    steps = 0
    while point.norm1() < limit:
        point = point.moved(1, 0) if point.x < point.y else point.moved(0, 2)
        steps += 1
    return Walk(point, steps)


class Epilogue:
    """What happens to a result before it is returned."""

    def __call__(self, value: Any) -> Any:
        return value


class ReLU(Epilogue):
    """Negative results become zero."""

    def __call__(self, value: Any) -> Any:
        return value if value > 0 else 0.0


@dataclass(frozen=True)
class Scale(Epilogue):
    """The factor is a field of a Constexpr: a constant in the code."""

    factor: float

    def __call__(self, value: Any) -> Any:
        return value * self.factor


@tt.jit
def multiply_add(a: tt.Float32, b: tt.Float32, c: tt.Float32, epilogue: tt.Constexpr[Epilogue]) -> tt.Float32:
    """One function, one specialization for each epilogue."""
    return epilogue(a * b + c)


def main() -> None:
    print(walk(Point(1, 2), 9))
    print(walk(Point(x=5, y=5), 9))
    for epilogue in (Epilogue(), ReLU(), Scale(0.5)):
        compiled = tt.compile(multiply_add, 2.0, -3.0, 1.0, epilogue)
        print(type(epilogue).__name__, compiled(2.0, -3.0, 1.0))
        print(compiled.mlir)


if __name__ == "__main__":
    main()
