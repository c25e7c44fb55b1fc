from dataclasses import dataclass

import triptych as tt


@dataclass
class Point:
    x: tt.Int32


@tt.jit
def move(p: Point):
    p.x += 1  # error: TT0205 at "p.x"
    return p.x


move(Point(3))
