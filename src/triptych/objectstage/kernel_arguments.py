"""Arguments of programs whose kernels a driver launches: how many there are, and which GPU their tensors are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.diagnostics.runtime_errors import ArgumentCountError
from triptych.diagnostics.tensor_errors import ArgumentTensorError
from triptych.stages import Leaf


def check_count(name: str, given: int, wanted: int) -> None:
    """Refuse too many or too few: the compiled host function counts one more, which no user gives."""
    if given == wanted:
        return
    plural = "" if wanted == 1 else "s"
    verb = "was" if given == 1 else "were"
    raise ArgumentCountError(
        f"{name}() takes {wanted} argument{plural} but {given} {verb} given", found=str(given), expected=str(wanted)
    )


def device_of_tensors(parameters: Sequence[Leaf], args: Sequence[Any], memory: int) -> int | None:
    """The number of the GPU that the tensors in one kind of memory are on; None if there are none.

    What else is wrong with tensors, compiled code finds out.
    """
    first: tuple[int, str] | None = None
    for leaf, value in zip(parameters, args, strict=True):
        if leaf.memory is not None and hasattr(type(value), "__dlpack_device__"):
            kind, number = value.__dlpack_device__()
            if kind == memory:
                first = first or (int(number), leaf.path)
                if first[0] != number:
                    raise _parted(*first, int(number), leaf.path)
    return None if first is None else first[0]


def _parted(first: int, path: str, other: int, other_path: str) -> ArgumentTensorError:
    return ArgumentTensorError(
        "the tensors of one call are on different GPUs",
        found=f"{path} on GPU {first}, {other_path} on GPU {other}",
        expected="tensors on one GPU, which runs the kernels",
        instead=f"a copy of {other_path} on GPU {first}; PyTorch: {other_path}.to('cuda:{first}')",
    )
