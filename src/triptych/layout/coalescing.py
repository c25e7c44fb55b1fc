"""Coalescing of a layout: fewer modes for the same function.

Input: a layout. Output: one that sends every integer to the same index, with as few modes as can be proven.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from triptych.layout.basis import Step, steps_known_equal
from triptych.layout.composed import L, on_outer
from triptych.layout.errors import ProfileError
from triptych.layout.integers import Int
from triptych.layout.layout import Layout, from_leaves, from_modes, modes, trusted
from triptych.layout.tuples import IntTuple, Nested

Leaf = tuple[Int, Step]


def coalesce(layout: L, target_profile: Nested | None = None) -> L:
    """The same function with fewer modes; with a profile, mode by mode at its leaves.

    A static and a dynamic extent are never merged: the product would hide the static one, which is what
    vectorization needs to see. Two dynamic extents merge when their strides provably fit.
    """
    return on_outer(layout, lambda outer: _coalesce(outer, target_profile))


def _coalesce(layout: Layout, profile: Nested | None) -> Layout:
    if not isinstance(profile, tuple):
        return from_leaves(merged(leaf_pairs(layout)))
    parts = modes(layout)
    if len(profile) > len(parts):
        raise ProfileError("the profile has more modes than the layout", found=f"{profile} against {layout}")
    done = [_coalesce(part, target if target is not None else 1) for part, target in zip(parts, profile, strict=False)]
    return from_modes([*done, *parts[len(profile) :]])


def leaf_pairs(layout: Layout) -> list[Leaf]:
    """The (extent, stride) pairs of the leaves."""
    pairs: list[Leaf] = []
    _collect(layout.shape, layout.stride, pairs)
    return pairs


# The stride of a layout nests as its shape does: what one is says what the other is, which no type can say.
def _collect(shape: Any, stride: Any, pairs: list[Leaf]) -> None:
    if isinstance(shape, tuple):
        for extent, step in zip(shape, stride, strict=True):
            if isinstance(extent, tuple):
                _collect(extent, step, pairs)
            else:
                pairs.append((extent, step))
    else:
        pairs.append((shape, stride))


def continues(before: Leaf, step: Step) -> bool:
    """Whether a stride provably goes on where a mode ends."""
    extent, before_step = before
    if isinstance(extent, int) and isinstance(before_step, int) and isinstance(step, int):
        return extent * before_step == step
    return steps_known_equal(extent * before_step, step)


def merged(leaves: Iterable[Leaf], *, across_kinds: bool = False) -> list[Leaf]:
    """Neighbours that continue each other become one; modes of extent 1 vanish, but one is left if all do."""
    result: list[Leaf] = []
    trivial: list[Leaf] = []
    for leaf in leaves:
        extent, step = leaf
        static = isinstance(extent, int)
        if static and extent == 1:
            trivial = [leaf]
        elif result and continues(result[-1], step) and (across_kinds or isinstance(result[-1][0], int) == static):
            before, before_step = result[-1]
            result[-1] = (before * extent, before_step)
        else:
            result.append(leaf)
    return result or trivial


def filter_zeros(layout: L, target_profile: Nested | None = None) -> L:
    """Modes with stride 0 (or with 0 in the profile) get extent 1, so that no index repeats."""
    return on_outer(
        layout,
        lambda outer: trusted(
            _without_zeros(outer.stride if target_profile is None else target_profile, outer.shape), outer.stride
        ),
    )


def _without_zeros(guide: Nested, shape: IntTuple) -> IntTuple:
    if isinstance(guide, tuple):
        if not isinstance(shape, tuple) or len(shape) != len(guide):
            raise ProfileError("the profile does not fit the shape", found=f"{guide} against {shape}")
        return tuple(_without_zeros(part, item) for part, item in zip(guide, shape, strict=True))
    if isinstance(guide, int) and guide == 0:
        return _ones(shape)
    return shape


def _ones(shape: IntTuple) -> IntTuple:
    return tuple(map(_ones, shape)) if isinstance(shape, tuple) else 1


def filter(layout: L, target_profile: Nested | None = None) -> L:
    """Drop what repeats (stride 0) and what is trivial (extent 1), then coalesce."""
    return coalesce(filter_zeros(layout), target_profile)
