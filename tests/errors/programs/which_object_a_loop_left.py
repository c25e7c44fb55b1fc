"""The identity of an object that a loop has chosen."""

from dataclasses import dataclass

import triptych as tt


@dataclass
class Point:
    x: tt.Int32


@tt.jit
def last(n: tt.Int32):
    p, q = Point(n), Point(5)
    chosen = p
    for _ in range(n):
        chosen = q
    return chosen is p  # error: TT0207 at "chosen is p"


last(3)
