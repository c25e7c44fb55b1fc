"""An object that a run-time index chooses, and an assignment to it."""

from dataclasses import dataclass

import triptych as tt


@dataclass
class Point:
    x: tt.Int32
    y: tt.Int32


@tt.jit
def moved(n: tt.Int32):
    p, q = Point(n, 2), Point(5, 6)
    [p, q][n > 1].x = 99  # error: TT0205 at "[p, q][n > 1].x"
    return p.x + q.x


moved(3)
