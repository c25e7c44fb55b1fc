"""The reader of records against records that somebody has changed: nothing is raised, and nothing is loaded.

python -m benchmarks.hostile_records [--records 100000] [--facts 20000] [--seed 0]

A second part changes the facts of real programs, for the CPU and where an assembler is for a GPU, and makes the digest
fit: what is loaded then must be what the record says, and on the CPU its call must give what it did.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from random import Random

import numpy as np

from tests.support.hostile_facts import forged, is_as_told, kept, loaded
from tests.support.hostile_records import SIGNER, hostile, is_loaded
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import HAS_ASSEMBLER


def main() -> None:
    """Print what was tried and what came of it; the exit code is 1 if anything was loaded or raised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--facts", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    wrong = _records(asked.records, asked.seed)
    for target in ("cpu", *(["nvptx:sm_80"] if HAS_ASSEMBLER else [])):
        wrong += _facts(target, asked.facts, asked.seed)
    raise SystemExit(1 if wrong else 0)


def _records(count: int, seed: int) -> int:
    random, began = Random(seed), time.process_time()
    taken = fitting = raised = 0
    for number in range(count):
        record = hostile(random)
        fitting += record.digest_fits
        try:
            # Without a key, a digest that fits is all there is: then only what is raised counts.
            is_taken = is_loaded(record, SIGNER) + (is_loaded(record, None) and not record.digest_fits)
        except Exception as error:
            raised += 1
            print(f"record {number}: {type(error).__name__}: {error}")
        else:
            taken += is_taken
    seconds = time.process_time() - began
    what = f"{count} records, {fitting} with a digest that fits"
    print(f"{what}: {taken} loaded, {raised} exceptions ({seconds:.0f} s)", flush=True)
    return taken + raised


def _facts(target: str, count: int, seed: int) -> int:
    random, began = Random(seed), time.process_time()
    taken = others = raised = 0
    with tempfile.TemporaryDirectory() as folder:
        program = kept(target, folder, vector(align=4))
    for number in range(count):
        facts = forged(random, program.entry.facts)
        try:
            made = loaded(program, facts)
            if made is not None:
                taken += 1
                others += not is_as_told(made, facts)
                if target == "cpu":
                    x = np.ones(128, np.float32)
                    others += made.call(3.0, x) != 3.0 or x[0] != 3
        except Exception as error:
            raised += 1
            print(f"facts {number}: {type(error).__name__}: {error}")
    seconds = time.process_time() - began
    what = f"{count} changed facts of a program for {target} with a digest that fits"
    print(
        f"{what}: {taken} loaded, {others} of them another program, {raised} exceptions ({seconds:.0f} s)", flush=True
    )
    return others + raised


if __name__ == "__main__":
    main()
