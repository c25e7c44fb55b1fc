"""The law of contraction: drawn expressions of floats have one result on every target unless contraction is allowed.

Without it -O0, -O3, PTX and NumPy agree in every bit. With it every result is one of those that rounding some products
together with the sums that take them can give.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import triptych as tt
from tests.differential.choices import Choices, RandomChoices
from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.tools import HAS_ASSEMBLER
from triptych import cute
from triptych.ptxsim.conversions import fused, fused_doubles

Tree: TypeAlias = "tuple[Any, ...]"
Array = npt.NDArray[Any]
INPUTS, COUNT = 4, 64
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
SEEDS = range(12)
WIDTHS = [np.float32, np.float64]


def drawn(choices: Choices, depth: int) -> Tree:
    """A tree: ("x", number of an input), (operator, left, right), ("neg", value) or ("fma", a, b, c)."""
    if depth == 0:
        return ("x", choices.below(INPUTS))
    kind = choices.choice(("+", "-", "*", "*", "neg", "fma", "x"))
    parts = {"neg": 1, "fma": 3, "x": 0}.get(kind, 2)
    if parts == 0:
        return ("x", choices.below(INPUTS))
    return (kind, *(drawn(choices, depth - 1) for _ in range(parts)))


def traced(tree: Tree, inputs: Sequence[Any]) -> Any:
    """The expression, as a program writes it."""
    if tree[0] == "x":
        return inputs[tree[1]]
    parts = [traced(part, inputs) for part in tree[1:]]
    if tree[0] == "neg":
        return -parts[0]
    if tree[0] == "fma":
        return cute.math.fma(parts[0], parts[1], parts[2])
    return OPERATORS[tree[0]](parts[0], parts[1])


def computed(tree: Tree, inputs: Array) -> Array:
    """With every rounding, by NumPy."""
    if tree[0] == "x":
        return np.asarray(inputs[tree[1]])
    parts = [computed(part, inputs) for part in tree[1:]]
    if tree[0] == "neg":
        return -parts[0]
    if tree[0] == "fma":
        return fma(*parts)
    return np.asarray(OPERATORS[tree[0]](*parts))


def fma(a: Array, b: Array, c: Array) -> Array:
    if a.dtype == np.float64:
        return np.asarray(fused_doubles(a, b, c))
    return np.asarray(fused(a, b, c).astype(a.dtype))


def allowed(tree: Tree, inputs: Array) -> list[Array]:
    """The results with any of the products rounded together with sums."""
    if tree[0] == "x":
        return [np.asarray(inputs[tree[1]])]
    parts = [allowed(part, inputs) for part in tree[1:]]
    if tree[0] == "neg":
        return [-value for value in parts[0]]
    if tree[0] == "fma":
        return _different(fma(a, b, c) for a, b, c in product(*parts))
    found = [OPERATORS[tree[0]](left, right) for left, right in product(*parts)]
    if tree[0] in "+-":
        sign = -1 if tree[0] == "-" else 1
        found += [fma(a, b, sign * right) for a, b in factors(tree[1], inputs) for right in parts[1]]
        found += [fma(sign * a, b, left) for a, b in factors(tree[2], inputs) for left in parts[0]]
    return _different(found)


def factors(tree: Tree, inputs: Array) -> Iterator[tuple[Array, Array]]:
    """What a product is made of; that of a product with its sign changed as well."""
    if tree[0] == "neg":
        yield from ((-a, b) for a, b in factors(tree[1], inputs))
    elif tree[0] == "*":
        yield from product(allowed(tree[1], inputs), allowed(tree[2], inputs))


def _different(found: Any) -> list[Array]:
    return list({value.tobytes(): value for value in found}.values())


@tt.kernel
def contracting(x: cute.Tensor, out: cute.Tensor, tree: tt.Constexpr[Tree]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    out[thread] = traced(tree, [x[i, thread] for i in range(INPUTS)])


rounding = tt.kernel(contract=False)(contracting.function)


@tt.jit
def launched(x: cute.Tensor, out: cute.Tensor, tree: tt.Constexpr[Tree], kernel: tt.Constexpr[Any]) -> None:
    kernel(x, out, tree).launch(grid=1, block=COUNT)


@tt.jit
def on_the_host(x: cute.Tensor, out: cute.Tensor, tree: tt.Constexpr[Tree]) -> None:
    for place in range(COUNT):
        out[place] = traced(tree, [x[i, place] for i in range(INPUTS)])


def program(seed: int, kind: Any) -> tuple[Tree, Array]:
    """An expression, and numbers near 1, whose products and sums lose digits."""
    tree = drawn(RandomChoices(seed), 4)
    random = np.random.default_rng(seed)
    digits = np.finfo(kind).nmant
    sizes = 1 + random.integers(-8, 9, (INPUTS, COUNT)) * 2.0 ** -(digits // 2)
    return tree, (sizes * random.choice([-1, 1], (INPUTS, COUNT))).astype(kind)


def results(tree: Tree, inputs: Array, kernel: Any) -> dict[str, Array]:
    """What each execution gives."""
    found = {}
    for opt_level in (0, 3):
        out = np.zeros(COUNT, inputs.dtype)
        tt.compile(launched, inputs, out, tree, kernel, opt_level=opt_level)(inputs, out)
        found[f"-O{opt_level}"] = out
    if HAS_ASSEMBLER:
        out = np.zeros(COUNT, inputs.dtype)
        with numpy_gpu("sm_90"):
            launched(inputs, out, tree, kernel)
        found["PTX"] = out
    return found


@pytest.mark.parametrize("kind", [*WIDTHS, np.float16])
@pytest.mark.parametrize("seed", SEEDS)
def test_without_contraction_all_agree(seed: int, kind: Any) -> None:
    tree, inputs = program(seed, kind)
    right = computed(tree, inputs)
    for name, found in results(tree, inputs, rounding).items():
        assert found.tobytes() == right.tobytes(), (name, tree)
    out = np.zeros(COUNT, kind)
    on_the_host(inputs, out, tree)
    assert out.tobytes() == right.tobytes(), tree


@pytest.mark.parametrize("kind", WIDTHS)
@pytest.mark.parametrize("seed", SEEDS)
def test_with_contraction_results_are_allowed(seed: int, kind: Any) -> None:
    tree, inputs = program(seed, kind)
    for name, found in results(tree, inputs, contracting).items():
        assert any(found.tobytes() == value.tobytes() for value in allowed(tree, inputs)), (name, tree)


@pytest.mark.parametrize("kind", WIDTHS)
def test_contraction_changes_results(kind: Any) -> None:
    """So that the law above says something."""
    programs = [program(seed, kind) for seed in SEEDS]
    assert any(
        found.tobytes() != computed(tree, inputs).tobytes()
        for tree, inputs in programs
        for found in results(tree, inputs, contracting).values()
    )
