"""What `import triptych` costs: CPU milliseconds on top of a bare interpreter, and the heavy packages it must not load.

python -m benchmarks.import_time [--json]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence

from benchmarks.rows import Row, installed_environment, run

REPETITIONS = 9
HEAVY = ("torch_mlir", "llvmlite", "numpy", "tvm_ffi", "torch")

PROBE = """
import json, sys, time
{statement}
print(json.dumps([time.process_time(), [name for name in {heavy} if name in sys.modules]]))
"""

STATEMENTS = {
    "import triptych": ("import triptych", 60.0),
    "all public names": ("import triptych; [getattr(triptych, name) for name in triptych.__all__]", None),
}


def probe(statement: str, environment: Mapping[str, str]) -> tuple[float, list[str]]:
    """CPU milliseconds from the start of an interpreter to the end of the statement, and the heavy modules loaded."""
    command = [sys.executable, "-c", PROBE.format(statement=statement, heavy=HEAVY)]
    seconds, heavy = json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    return seconds * 1e3, heavy


def measure() -> Sequence[Row]:
    """The smallest of several runs: other processes can only add to it."""
    rows: list[Row] = []
    with installed_environment() as environment:
        for statement, _ in STATEMENTS.values():
            probe(statement, environment)
        bare = min(probe("pass", environment)[0] for _ in range(REPETITIONS))
        for what, (statement, bar) in STATEMENTS.items():
            probes = [probe(statement, environment) for _ in range(REPETITIONS)]
            rows.append(Row(f"{what}: CPU over bare Python", min(ms for ms, _ in probes) - bare, "ms", bar))
            rows.append(Row(f"{what}: heavy packages loaded", len(probes[0][1]), "packages", 0))
    return rows


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
