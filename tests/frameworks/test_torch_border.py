"""Every kind of tensor and mode of PyTorch, at every way into a kernel: the result is right, or an error says why."""

from __future__ import annotations

import re
from typing import Any

import pytest

from triptych.support.errors import TriptychError

torch: Any = pytest.importorskip("torch")
ways: Any = pytest.importorskip("tests.frameworks.border_ways")
for more in ("gradients", "tensors"):
    pytest.importorskip(f"tests.frameworks.border_{more}")

# For each way, in their order: right, the code of an error, or an error of PyTorch's own.
OUTCOMES = {
    "requires_grad": "TT0640 TT0640 TT0655 TT0640 right",
    "one requires a gradient": "TT0640 TT0640 TT0655 TT0640 right",
    "an intermediate result requires a gradient": "TT0640 TT0640 TT0655 TT0640 right",
    "both are one tensor": "TT0640 TT0640 TT0655 TT0640 right",
    "second derivative": "TT0640 TT0640 TT0655 TT0640 TT0655",
    "checkpoint": "TT0640 TT0640 TT0655 TT0640 right",
    "Parameter": "TT0640 TT0640 TT0655 TT0640 right",
    "a leaf that requires a gradient is written": "TT0640 TT0640 torch TT0640 torch",
    "a saved tensor is overwritten": "torch torch torch torch torch",
    "a view of a saved tensor is overwritten": "torch torch torch torch torch",
    "what the way has saved is overwritten": "TT0640 TT0640 TT0655 TT0640 torch",
    "the result is overwritten": "TT0640 TT0640 TT0655 TT0640 right",
    "forward AD": "TT0640 TT0640 TT0640 TT0640 TT0640",
    "forward AD, of what is written": "TT0640 TT0640 right TT0640 right",
    "negative": "TT0640 TT0640 right right right",
    "a negative one is written": "TT0640 TT0640 right TT0640 right",
    "the negative part of a conjugate": "TT0640 TT0640 right right right",
    "conj": "TT0640 TT0641 TT0640 TT0640 TT0640",
    "complex": "TT0640 TT0641 TT0640 TT0640 TT0640",
    "stride 0": "right TT0642 right right right",
    "stride 0 of a gradient": "TT0640 TT0640 TT0655 TT0640 right",
    "stride 0 of the first": "right TT0642 right right right",
    "non-contiguous": "right TT0642 right right right",
    "columns": "right TT0642 right right right",
    "another rank": "TT0802 TT0641 TT0802 TT0802 TT0802",
    "other types": "right TT0641 right right right",
    "mixed types": "right TT0641 right right right",
    "meta": "TT0640 TT0640 right right right",
    "meta and CPU": "TT0640 TT0640 TT0640 TT0640 TT0640",
    "fake": "right TT0649 right right right",
    "fake outside of its mode": "right TT0649 right right right",
    "functional": "TT0649 TT0649 right torch right",
    "functional by hand": "TT0649 TT0649 right torch right",
    "vmap": "TT0649 TT0649 right right right",
    "vmap in vmap": "TT0649 TT0649 right right right",
    "vmap of a gradient": "TT0649 TT0649 TT0655 TT0640 right",
    "grad": "TT0649 TT0649 TT0655 TT0640 right",
    "grad of what is closed over": "TT0649 TT0649 right right right",
    "jvp": "TT0649 TT0649 TT0640 TT0640 TT0640",
    "vjp": "TT0649 TT0649 TT0655 TT0640 right",
    "jacrev": "TT0649 TT0649 TT0655 TT0640 right",
    "jacfwd": "TT0649 TT0649 TT0640 TT0640 TT0640",
    "subclass that wraps": "TT0642 TT0642 right right right",
    "make_fx": "right TT0649 right right right",
    "make_fx with symbols": "right TT0649 right right right",
    "jit.trace": "TT0649 TT0649 right right right",
    "sparse": "TT0640 TT0640 torch torch torch",
    "another shape of storage": "right TT0642 right right right",
    "hooks of saved tensors": "TT0640 TT0640 TT0655 TT0640 right",
    "backward twice": "TT0640 TT0640 TT0655 TT0640 right",
    "a result that nobody needs": "TT0640 TT0640 right TT0640 right",
    "nested": "TT0640 TT0640 torch torch torch",
    "quantized": "TT0640 TT0640 torch torch torch",
    "8 threads with gradients": "TT0640 TT0640 TT0655 TT0640 right",
}
RIGHT = " ".join(["right"] * len(ways.WAYS))
OF_TORCH = (
    "modified by an inplace operation",
    "a leaf Variable that requires grad is being used in an in-place operation",
    r"Found a custom \(non-ATen\) operator whose output has alias annotations",
    r"Could not run .* with arguments from the '(SparseCPU|NestedTensorCPU|QuantizedCPU)' backend",
)
CASES = [(program, way) for program in ways.PROGRAMS for way in ways.WAYS]


def outcome(program: str, way: str) -> str:
    def computed(way: Any) -> Any:
        torch.manual_seed(3)
        return ways.PROGRAMS[program](way)

    try:
        found = computed(ways.WAYS[way])
    except TriptychError as error:
        return error.code
    except RuntimeError as error:
        return "torch" if any(re.search(each, str(error)) for each in OF_TORCH) else f"an error of another's: {error}"
    torch.testing.assert_close(found, computed(ways.REFERENCE))
    return "right"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("program", "way"), CASES)
def test_right_or_an_error(program: str, way: str) -> None:
    expected = OUTCOMES.get(program, RIGHT).split()[list(ways.WAYS).index(way)]
    assert outcome(program, way) == expected


def test_every_outcome_is_of_a_program() -> None:
    assert OUTCOMES.keys() <= ways.PROGRAMS.keys()
