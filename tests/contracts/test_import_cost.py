"""`import triptych` is cheap: a command line tool or a library may import it without paying for a compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HEAVY = {"torch_mlir", "llvmlite", "numpy", "ml_dtypes", "tvm_ffi", "torch"}
BUDGET_SECONDS = 0.060

PROBE = """
import json, sys, time
start = time.process_time()
{statement}
seconds = time.process_time() - start
print(json.dumps([seconds, sorted(sys.modules)]))
"""

SANITIZER = "triptych.targets.cpu.sanitizer"
LAUNCHING = """
import json, sys
import triptych as tt
from triptych import cute

@cute.kernel
def ones():
    memory = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 32), cute.make_layout(32))
    memory[cute.arch.thread_idx()[0]] = 1.0

@cute.jit
def run():
    ones().launch(grid=(1, 1, 1), block=(32, 1, 1))

run()
print(json.dumps(sorted(sys.modules)))
"""


def probe(statement: str) -> tuple[float, set[str]]:
    """CPU seconds of a statement in a fresh interpreter, and the modules loaded after it."""
    command = [sys.executable, "-c", PROBE.format(statement=statement)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, modules = json.loads(output)
    return seconds, set(modules)


def test_import_is_within_its_budget() -> None:
    best = min(probe("import triptych")[0] for _ in range(5))
    assert best < BUDGET_SECONDS


def test_import_loads_nothing_heavy() -> None:
    _, modules = probe("import triptych")
    assert "triptych" in modules
    assert not modules & HEAVY


def test_public_names_load_nothing_heavy() -> None:
    """Decorating and annotating happens at import time of user modules, so it must be cheap as well."""
    _, modules = probe("import triptych; [getattr(triptych, name) for name in triptych.__all__]")
    assert not modules & HEAVY


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    _, modules = probe("import triptych.workbench.commands.cli")
    assert not modules & HEAVY


def test_a_release_build_imports_nothing_of_the_sanitizer(tmp_path: Path) -> None:
    """Compiled and run in a fresh process: what it imports of the CPU target, with checkers and without."""
    (tmp_path / "program.py").write_text(LAUNCHING)
    release, checked = (launched(tmp_path, debug) for debug in ("", "bounds,races"))
    assert "triptych.targets.cpu.loader" in release
    assert not [name for name in release if name.startswith(SANITIZER)]
    assert {f"{SANITIZER}.{name}" for name in ("runtime", "check_calls", "instrument_checks")} <= checked


def launched(folder: Path, debug: str) -> set[str]:
    """The modules that are loaded behind a launch."""
    settings = {**os.environ, "TRIPTYCH_DEBUG": debug, "TRIPTYCH_CACHE_DIR": str(folder / f"store {debug}")}
    command = [sys.executable, str(folder / "program.py")]
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=settings).stdout
    return set(json.loads(output))


FOUND = """
import numpy as np

@tt.kernel
def twice(x: cute.Tensor):
    x[cute.arch.thread_idx()[0]] *= 2.0

@tt.jit
def call(x: cute.Tensor):
    twice(x).launch(grid=1, block=32)

call(np.ones(32, np.float32))
print(json.dumps(sorted(sys.modules)))
"""
MOST_FOR_A_HIT = 293


def test_a_program_that_is_found_loads_no_compiler_and_no_other_target(tmp_path: Path) -> None:
    """A second process waits for imports: of 295 modules for one kernel, 9 made or ran code for GPUs."""
    program = tmp_path / "program.py"
    program.write_text("import json, sys\nimport triptych as tt\nfrom triptych import cute\n" + FOUND)
    settings = {**os.environ, "TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": str(tmp_path / "store")}
    command = [sys.executable, str(program)]
    made, found = (
        set(json.loads(subprocess.run(command, env=settings, capture_output=True, check=True).stdout)) for _ in range(2)
    )
    assert "torch_mlir" in made - found
    ours = {name for name in found if name.partition(".")[0] == "triptych"}
    assert len(ours) <= MOST_FOR_A_HIT, len(ours)
    assert not [name for name in ours if name.startswith("triptych.targets.nvptx.toolchain")]
    assert not [name for name in ours if name.startswith("triptych.prestage")]
    assert "tarfile" not in found
