"""Every name that public programs of the first three tiers use is here, or left out for a reason."""

from __future__ import annotations

import functools
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

CENSUS = Path(__file__).with_name("api_census.json")
NAMES: list[str] = [row["name"] for row in json.loads(CENSUS.read_text(encoding="utf-8"))["names"]]

DRIVER = "errors of another implementation's driver calls; those of launches here are DriverError"
JAX = "arrays come from `jax.random` and `jax.numpy`"

LEFT_OUT = {
    "cutlass.base_dsl.runtime.cuda.checkCudaErrors": DRIVER,
    "cutlass.jax.testing.create_tensor": JAX,
}


def spelling(name: str) -> str:
    """How a public name is spelt here."""
    if name.startswith("cutlass._mlir."):
        return name.replace("cutlass._mlir", "triptych.compat.mlir_builders")
    root, _, rest = name.partition(".")
    homes = {"cutlass": "triptych", "cute": "triptych.cute", "utils": "triptych.cute.utils"}
    return homes.get(root, f"triptych.{root}") + "." + rest


def found(spelt: str) -> Any:
    """The object of a dotted name, modules imported as far as there are some."""
    parts = spelt.split(".")
    for known in range(len(parts) - 1, 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:known]))
            return functools.reduce(getattr, parts[known:], module)
        except ModuleNotFoundError as missing:
            if missing.name in ("jax", "torch"):
                pytest.skip(f"needs {missing.name}")
    raise AttributeError(spelt)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LEFT_OUT])
def test_name_is_here(name: str) -> None:
    assert found(spelling(name)) == found(spelling(name))


@pytest.mark.parametrize("name", LEFT_OUT)
def test_name_left_out_is_not_here(name: str) -> None:
    with pytest.raises(AttributeError):
        found(spelling(name))


def test_reasons_are_given_for_names_of_the_census_only() -> None:
    assert set(LEFT_OUT) <= set(NAMES)
    assert len(NAMES) == len(set(NAMES)) == 182


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("utils.", "cute.testing."))])
def test_shorter_name_is_the_same(name: str) -> None:
    short = "triptych." + name.removeprefix("cute.")
    assert found(short) is found(spelling(name))


def test_imports_of_public_programs() -> None:
    """A program starts with these lines once `cutlass` is replaced in them, and nothing else."""
    program = """
import triptych as cutlass
import triptych.cute as cute
import triptych.cute.testing as testing
import triptych.pipeline as pipeline
import triptych.utils as utils
from triptych import Boolean, Float32, Int32, const_expr, dsl_user_op, range_constexpr, testing as same_testing
from triptych.cute.nvgpu import CopyUniversalOp, cpasync, warp
from triptych.cute.runtime import from_dlpack, make_fake_compact_tensor, make_ptr
from triptych.cute.typing import Boolean, Float32, Int, Int32, Pointer, Tensor
from triptych.cutlass_dsl import T, dsl_user_op, extract_mlir_values, new_from_mlir_values
"""
    names: dict[str, Any] = {}
    exec(program, names)
    assert names["cutlass"].utils.SmemAllocator is names["utils"].SmemAllocator
    assert names["cutlass"].cute is names["cute"]
