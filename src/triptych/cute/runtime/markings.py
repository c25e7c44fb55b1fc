"""Dynamic layout marks: which integers of a tensor's layout stay unknown until the call.

Unknown extents have 32 bits, unknown strides 64: a tensor may have more than 2^31 elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.cute.tracing.errors import TensorMarkingError
from triptych.layout import Int, Layout, sym_int

EXTENT, STRIDE = ".shape[{}]", ".stride[{}]"
"""Names of a tensor's own unknowns; the path of the argument goes before the point."""


def all_dynamic(
    shape: Sequence[int], stride: Sequence[int], leading: int | None, wide: bool = True, in_a_byte: int = 1
) -> Layout:
    """Every integer unknown but the stride of the leading mode, which is 1, and strides of 0, which repeat elements.

    Where several elements are `in_a_byte`, the leading mode has whole bytes, and the others step over whole bytes.
    """
    width = 64 if wide else 32
    strides = [
        1 if i == leading else 0 if step == 0 else sym_int(width, in_a_byte, symbol=STRIDE.format(i), lower=0)
        for i, step in enumerate(stride)
    ]
    return Layout(tuple(extent_unknown(i, in_a_byte if i == leading else 1) for i in range(len(shape))), tuple(strides))


def extent_unknown(mode: int, divisibility: int = 1) -> Int:
    """The unknown extent of a mode."""
    return sym_int(32, divisibility, symbol=EXTENT.format(mode), lower=0)


def implicit_leading_mode(shape: Sequence[int], stride: Sequence[int]) -> int | None:
    """The mode of step 1 of a tensor that was passed as it is, if there is one.

    Steps of modes of extent 1 mean nothing, so such a mode leads only when no other can; an empty tensor takes no
    steps at all, so its last mode leads.
    """
    if 0 in shape:
        return len(shape) - 1
    candidates = [mode for mode, step in enumerate(stride) if step == 1]
    long = [mode for mode in candidates if shape[mode] > 1]
    if len(long) > 1:
        return None
    return long[0] if long else candidates[-1] if candidates else None


def deduced_leading_mode(shape: Sequence[int], stride: Sequence[int]) -> int | None:
    """The mode of step 1, if there is one; it is an error if several could be.

    A tensor of one element takes no steps, so nothing is misread whichever leads: the last, as in any row-major tensor.
    """
    if shape and all(extent == 1 for extent in shape):
        return len(shape) - 1
    candidates = [mode for mode, step in enumerate(stride) if step == 1]
    long = [mode for mode in candidates if shape[mode] > 1]
    if not candidates:
        return None
    if len(candidates) == 1 or len(long) == 1:
        return (long or candidates)[0]
    raise TensorMarkingError(
        "several modes could be the leading one",
        found=f"the layout {_text(shape, stride)}, with step 1 in the modes {candidates}",
        expected="one mode of step 1, or one with an extent of more than 1 among them",
        instead=f"mark_layout_dynamic(leading_dim={candidates[-1]})",
    )


def given_leading_mode(shape: Sequence[int], stride: Sequence[int], leading: int) -> int:
    """The mode the user names, from the end when negative; its step must be 1, unless it never steps."""
    mode = checked_mode(leading, len(shape), "leading_dim", negative=True)
    if stride[mode] != 1 and shape[mode] > 1:
        raise TensorMarkingError(
            f"mode {mode} cannot be the leading one",
            found=f"step {stride[mode]} in {_text(shape, stride)}",
            expected="a mode of step 1",
        )
    return mode


def checked_mode(mode: int, rank: int, name: str, *, negative: bool = False) -> int:
    """A mode by its number."""
    if not (-rank if negative else 0) <= mode < rank:
        raise TensorMarkingError(f"{name} is not a mode", found=f"{name}={mode}", expected=f"0 to {rank - 1}")
    return mode % rank


def deduced_order(shape: Sequence[int], stride: Sequence[int]) -> tuple[int, ...]:
    """The modes from the largest step to the smallest; modes of equal step have no order."""
    order = tuple(sorted(range(len(shape)), key=lambda mode: -stride[mode]))
    if len(set(stride)) < len(stride):
        raise TensorMarkingError(
            "the order of the modes cannot be told from the layout",
            found=f"equal steps in {_text(shape, stride)}",
            expected="a different step in each mode",
            instead="stride_order=..., the modes from the outermost to the innermost",
        )
    return order


def checked_order(order: Sequence[int], rank: int) -> tuple[int, ...]:
    """An order of all modes, the outermost first."""
    if len(order) != rank or sorted(order) != list(range(rank)):
        raise TensorMarkingError(
            "stride_order does not name every mode once",
            found=f"stride_order={tuple(order)}",
            expected=f"a permutation of 0 to {rank - 1}",
        )
    return tuple(order)


def compact_steps(extents: Sequence[Int], order: Sequence[int]) -> tuple[Int, ...]:
    """The steps of a compact tensor: each mode steps over all inner ones. A mode of extent 1 never steps: 0."""
    steps: list[Int] = [0] * len(extents)
    step: Int = 1
    for mode in reversed(order):
        steps[mode] = 0 if isinstance(extents[mode], int) and extents[mode] == 1 else step
        step = step * extents[mode]
    return tuple(steps)


def check_compact(shape: Sequence[int], stride: Sequence[int], order: Sequence[int]) -> None:
    """The tensor must be compact in that order, where its modes step at all."""
    wanted = compact_steps(shape, order)
    if any(extent > 1 and step != right for extent, step, right in zip(shape, stride, wanted, strict=True)):
        raise TensorMarkingError(
            "the tensor is not compact in this order of modes",
            found=f"the layout {_text(shape, stride)}, stride_order={tuple(order)}",
            expected=f"the steps {wanted}",
            instead="mark_layout_dynamic(), which needs no compact tensor",
        )


def _text(shape: Sequence[int], stride: Sequence[int]) -> str:
    return str(Layout(tuple(shape), tuple(stride)))
