"""`import triptych` is cheap: a command line tool or a library may import it without paying for a compiler."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {"torch_mlir", "llvmlite", "numpy", "ml_dtypes", "tvm_ffi", "torch"}
BUDGET_SECONDS = 0.060

PROBE = """
import json, sys, time
start = time.process_time()
{statement}
seconds = time.process_time() - start
print(json.dumps([seconds, sorted(sys.modules)]))
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
