"""Composition: the layout R with R(c) == A(B(c)).

Input: a left layout A and a right layout, tile or shape. Output: a layout nested like the right one.
A reads its integer argument as digits, one per coalesced mode, the last one unbounded. A mode n:d of B moves
through those digits and splits where a digit would overflow. The result is exact or refused: as long as no sum
of digits carries, A is linear in them, and a layout is what is linear; a carry has no layout.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from operator import mul
from typing import Any, NoReturn

from triptych.layout.basis import ScaledBasis, Step
from triptych.layout.coalescing import continues, leaf_pairs, merged
from triptych.layout.composed import ComposedLayout, L, on_outer
from triptych.layout.errors import DivisibilityError, ProfileError
from triptych.layout.integers import Int, divide_up, is_one, minimum, require
from triptych.layout.layout import Layout, from_modes, modes, trusted
from triptych.layout.tuples import Shape, Stride, Tile, at, tuple_text

_OPERATION = "composition"
_INSTEAD = "a tile that divides the layout mode by mode"


def composition(left: L, right: Tile) -> L:
    """left o right: with a layout the function composition, with a tile or a shape mode by mode."""
    if isinstance(right, ComposedLayout):
        raise ProfileError(
            "a composed layout cannot stand on the right",
            found=str(right),
            instead="make_composed_layout(left, 0, right.outer) with what its inner part does",
        )
    return on_outer(left, lambda outer: _compose(outer, right))


def compose(left: Layout, right: Layout) -> Layout:
    """left o right of two plain layouts."""
    return _Composer(left).layout(right)


def _compose(left: Layout, right: Tile) -> Layout:
    if isinstance(right, Layout):
        return compose(left, right)
    if right is None:
        return left
    if isinstance(right, tuple):
        parts = modes(left)
        if len(right) > len(parts):
            raise ProfileError("the tile has more modes than the layout", found=f"tile {right}, layout {left}")
        return from_modes([_compose(part, tile) for part, tile in zip(parts, right, strict=False)])
    return compose(left, trusted(right, 1))


class _Composer:
    """One left layout, its digits found once for each mode the right strides point to."""

    __slots__ = ("digits", "left")

    def __init__(self, left: Layout) -> None:
        self.left = left
        self.digits: dict[tuple[int, ...], _Digits] = {}

    def layout(self, right: Layout) -> Layout:
        """Compose with every leaf of a layout, then check that no digit overflows."""
        if isinstance(right.shape, tuple):
            shape, stride = self._tuple(right.shape, right.stride)
        else:
            shape, stride = self._leaf(right.shape, right.stride)
        for digits in self.digits.values():
            digits.check_no_carry(right)
        return trusted(shape, stride)

    def _tuple(self, shape: tuple[Shape, ...], stride: tuple[Any, ...]) -> tuple[Shape, Stride]:
        extents, steps = [], []
        for extent, step in zip(shape, stride, strict=True):
            node = self._tuple(extent, step) if isinstance(extent, tuple) else self._leaf(extent, step)
            extents.append(node[0])
            steps.append(node[1])
        return tuple(extents), tuple(steps)

    # Any: congruent with an extent that is no tuple, the stride is none either.
    def _leaf(self, extent: Int, step: Any) -> tuple[Shape, Stride]:
        path, scale = (step.mode, step.scale) if isinstance(step, ScaledBasis) else ((), step)
        digits = self.digits.get(path)
        if digits is None:
            part = self.left if not path else trusted(at(self.left.shape, path), at(self.left.stride, path))
            digits = self.digits[path] = _Digits(part)
        return digits.mode(extent, scale)


class _Digits:
    """The digits of a layout read as a function of one integer, and how far each has been used."""

    __slots__ = ("extents", "last", "layout", "places", "sizes", "steps", "use", "users")

    def __init__(self, layout: Layout) -> None:
        *first, (_, last_step) = leaf_pairs(layout) or [(1, 0)]
        digits = merged(first, across_kinds=True)
        if digits and is_one(digits[0][0]):
            digits = []
        # Beyond its domain a layout goes on along its last mode, whatever its extent, so that one always stays.
        if digits and continues(digits[-1], last_step):
            last_step = digits.pop()[1]
        self.layout = layout
        self.last = len(digits)
        self.extents = [extent for extent, _ in digits]
        self.steps = [step for _, step in digits]
        self.steps.append(last_step)
        self.sizes = [extent for extent in self.extents if isinstance(extent, int)]
        self.places = list(accumulate(self.sizes, mul, initial=1))
        self.use: list[Int] = [0] * self.last
        self.users = [0] * self.last

    def mode(self, n: Int, d: Int) -> tuple[Shape, Stride]:
        """The layout of i -> digits(d*i), for i below n."""
        if isinstance(d, int):
            if d == 0:
                return n, 0
            if isinstance(n, int) and self.last and len(self.sizes) == self.last:
                return self._static_mode(n, d)
        return self._dynamic_mode(n, d) if self.last else (n, d * self.steps[0])

    def _static_mode(self, n: int, d: int) -> tuple[Shape, Stride]:
        """Take as many steps as fit before a digit overflows; what is left goes on with the longer stride."""
        pieces: list[tuple[int, Any]] = []
        places, last = self.places, self.last
        while True:
            k = bisect_right(places, d) - 1 if d > 0 else last
            q, rest = divmod(d, places[k])
            take = n
            if rest:
                take, step = self._along_several(n, d)
            else:  # the usual case, kept short: the stride moves one digit
                step = q * self.steps[k]
                if k < last:
                    room = -(-self.sizes[k] // q)
                    if room < n:
                        take = room
                    self.use[k] += (take - 1) * q
                    self.users[k] += 1
            if take == n and not pieces:
                return n, step
            pieces.append((take, step))
            if take == n:
                return _joined(pieces)
            if n % take:
                self._refuse(n, d, f"an extent up to {take}, or a multiple of it")
            n //= take
            d *= take

    def _along_several(self, n: int, d: int) -> tuple[int, Step]:
        """How many steps fit, and the step they make, when the stride moves more than one digit."""
        digits = self._digits_of(d)
        take = min(n, *(-(-self.sizes[k] // q) for k, q in digits if k < self.last))
        for k, q in digits:
            if k < self.last:
                self.use[k] += (take - 1) * q
                self.users[k] += 1
        return take, self._step(digits, n, d)

    def _digits_of(self, d: int) -> list[tuple[int, int]]:
        """The digits of a stride that are not zero; a binary search per digit keeps many modes cheap."""
        k = self.last if d < 0 else bisect_right(self.places, d) - 1
        q, d = divmod(d, self.places[k])
        digits = [(k, q)]
        while d:
            k = bisect_right(self.places, d) - 1
            q, d = divmod(d, self.places[k])
            digits.append((k, q))
        return digits

    def _step(self, digits: list[tuple[int, int]], n: int, d: int) -> Step:
        k, q = digits[0]
        total = q * self.steps[k]
        for k, q in digits[1:]:
            step = q * self.steps[k]
            if isinstance(total, ScaledBasis) or isinstance(step, ScaledBasis):
                self._refuse(n, d, "a stride along one mode of the coordinate")
            total = total + step
        return total

    def _dynamic_mode(self, n: Int, d: Int) -> tuple[Shape, Stride]:
        """The same walk when extents are unknown: every digit is visited and what must hold is required."""
        found = f"{n}:{d} in {self.layout}"
        require(minimum(d, 1) - 1, _OPERATION, "a positive stride", found, instead=_INSTEAD)
        pieces: list[tuple[Int, Any]] = []
        for k, extent in enumerate(self.extents):
            if is_one(d):
                room, step = extent, d
            else:
                require(
                    (d % extent) * (d // extent),
                    _OPERATION,
                    f"stride {d} below or a multiple of {extent}",
                    found,
                    instead=_INSTEAD,
                )
                room, step = divide_up(extent, d), divide_up(d, extent)
            if not is_one(room) and not is_one(n):
                take = minimum(room, n)
                require(n % take, _OPERATION, f"extent {n} below or a multiple of {room}", found, instead=_INSTEAD)
                # With a stride beyond the digit nothing of it is used, so there is nothing to divide.
                uneven = (extent % d) * (extent // d) * (n // take - 1)
                require(uneven, _OPERATION, f"stride {d} to divide {extent}", found, instead=_INSTEAD)
                self.use[k] += (take - 1) * d
                self.users[k] += 1
                pieces.append((take, d * self.steps[k]))
                n = n // take
            d = step
        if not pieces or not is_one(n):
            pieces.append((n, d * self.steps[self.last]))
        return _joined(pieces)

    def check_no_carry(self, right: Layout) -> None:
        """Modes add up inside a digit; were the sum to reach its extent, A(B(c)) would not be linear in c."""
        for extent, use, users in zip(self.extents, self.use, self.users, strict=True):
            # One user alone was given no more room than the digit has.
            if users > 1 and not (isinstance(use, int) and isinstance(extent, int) and use < extent):
                statement = f"modes that together stay below {extent}"
                require(use // extent, _OPERATION, statement, f"{right} in {self.layout}", instead=_INSTEAD)

    def _refuse(self, n: Shape, d: Stride, expected: str) -> NoReturn:
        raise DivisibilityError(
            f"{_OPERATION} has no exact result",
            found=f"{tuple_text(n)}:{tuple_text(d)} in {self.layout}",
            expected=expected,
            instead=_INSTEAD,
        )


def _joined(pieces: list[tuple[Any, Any]]) -> tuple[Shape, Stride]:
    if len(pieces) == 1:
        return pieces[0]
    return tuple([extent for extent, _ in pieces]), tuple([step for _, step in pieces])
