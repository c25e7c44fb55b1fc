"""Test markers by path: what a test needs, and so how long it takes. `slow` is said in the file instead.

A folder, or a file that differs from its folder, has one rung; the longest path that a test lies below decides.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]

RUNGS = {
    "pure": "imports neither MLIR nor LLVM; all of them take seconds",
    "ir": "builds, rewrites and prints IR, or reads the tree; few run machine code",
    "cpu": "compiles machine code and runs it",
    "slow": "fuzzes, draws thousands of examples or starts storms of processes; only .ci/nightly runs it",
}

COMPILERS = ("torch_mlir", "llvmlite")

BY_PATH = {
    "tests": "cpu",
    "tests/conformance": "pure",
    "tests/conformance/test_public_idioms.py": "cpu",
    "tests/contracts": "ir",
    "tests/ir": "ir",
    "tests/laws/test_cost_laws.py": "pure",
    "tests/laws/test_key_mutation.py": "pure",
    "tests/laws/test_lane_laws.py": "pure",
    "tests/laws/test_layout_laws.py": "pure",
    "tests/passes": "ir",
    "tests/unit/artifact_store": "pure",
    "tests/unit/fingerprint": "pure",
    "tests/unit/interop": "pure",
    "tests/unit/ir": "ir",
    "tests/unit/kernel_ir": "ir",
    "tests/unit/layout": "pure",
    "tests/unit/prestage": "pure",
    "tests/unit/ptxsim": "pure",
    "tests/unit/sanitizer": "pure",
    "tests/unit/support": "pure",
    "tests/unit/support/test_html_tabs.py": "cpu",
    "tests/unit/targets/nvptx": "ir",
    "tests/unit/test_hooks.py": "pure",
}


def rung_of(path: PurePosixPath) -> str:
    """The rung of a file, whose path begins at the root of the repository."""
    return next(rung for place in (path, *path.parents) if (rung := BY_PATH.get(place.as_posix())))


def mark(item: pytest.Item) -> None:
    """Give a collected test its rung, unless the file says that it is slow."""
    if item.get_closest_marker("slow") is None:
        item.add_marker(rung_of(_place(item.path)))


def is_left_out(path: Path, expression: str) -> bool:
    """Whether no test of this file can have the marker that is asked for, so that it need not be imported."""
    return expression in RUNGS and expression != "slow" and path.suffix == ".py" and rung_of(_place(path)) != expression


def _place(path: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(ROOT).as_posix())
