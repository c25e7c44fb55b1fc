"""The reader of records against records that somebody has changed: nothing is raised, and nothing is loaded.

python -m benchmarks.hostile_records [--records 100000] [--seed 0]
"""

from __future__ import annotations

import argparse
import time
from random import Random

from tests.support.hostile_records import SIGNER, hostile, is_loaded


def main() -> None:
    """Print what was tried and what came of it; the exit code is 1 if anything was loaded or raised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    random, began = Random(asked.seed), time.process_time()
    loaded = fitting = raised = 0
    for number in range(asked.records):
        record = hostile(random)
        fitting += record.digest_fits
        try:
            # Without a key, a digest that fits is all there is: then only what is raised counts.
            taken = is_loaded(record, SIGNER) + (is_loaded(record, None) and not record.digest_fits)
        except Exception as error:
            raised += 1
            print(f"record {number}: {type(error).__name__}: {error}")
        else:
            loaded += taken
    seconds = time.process_time() - began
    what = f"{asked.records} records, {fitting} with a digest that fits"
    print(f"{what}: {loaded} loaded, {raised} exceptions ({seconds:.0f} s)")
    raise SystemExit(1 if loaded or raised else 0)


if __name__ == "__main__":
    main()
