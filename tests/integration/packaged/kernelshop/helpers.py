"""Helpers that know nothing of Triptych: plain functions and a class, called by kernels with run-time values."""

from dataclasses import dataclass

LIMIT = 8


def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@dataclass(frozen=True)
class Window:
    first: int
    last: int

    def holds(self, i):
        if i < self.first:
            return False
        return i < self.last

    @property
    def width(self):
        return self.last - self.first


class Steps:
    """What a `for` over an object of the package goes through."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i >= self.count:
            raise IndexError(i)
        return i + 1
