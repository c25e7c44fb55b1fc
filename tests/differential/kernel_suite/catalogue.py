"""All cases of the suite: a module of kernels registers its own when it is imported."""

from __future__ import annotations

import importlib

from tests.differential.kernel_suite.cases import CASES

MODULES = (
    "elementwise",
    "indices",
    "grids",
    "loops",
    "block_sharing",
    "lifetimes",
    "warps",
    "divergence",
    "waiting",
    "atomics",
    "layouts",
    "transposes",
    "registers",
    "static_layouts",
    "matrices",
    "normalisation",
    "launches",
    "functions",
    "mathematics",
)

for module in MODULES:
    importlib.import_module(f"tests.differential.kernel_suite.{module}")

__all__ = ["CASES"]
