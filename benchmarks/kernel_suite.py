"""The differential suite of kernels with many examples: every case of the tests, new values on every run.

    python -m benchmarks.kernel_suite --factor 50
    python -m benchmarks.kernel_suite --factor 50 --only warps

Run from the root of the repository. A failure shows the smallest example that Hypothesis found.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import traceback
from collections.abc import Callable


def cases(factor: int, only: str) -> dict[str, Callable[[], None]]:
    """The cases, made for that many examples: how many is settled when they are registered."""
    os.environ["KERNEL_SUITE_FACTOR"] = str(factor)
    catalogue = importlib.import_module("tests.differential.kernel_suite.catalogue")
    return {name: run for name, run in catalogue.CASES.items() if only in name}


def passes(name: str, run: Callable[[], None]) -> bool:
    """Run one case and say how it went."""
    started = time.monotonic()
    try:
        run()
    except Exception:  # every kind of failure is one of the case
        traceback.print_exc()
        print(f"FAILED  {name}", flush=True)
        return False
    print(f"ok  {time.monotonic() - started:7.1f} s  {name}", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factor", type=int, default=20, help="times the number of examples in the tests")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this text")
    options = parser.parse_args()
    verdicts = [passes(name, run) for name, run in cases(options.factor, options.only).items()]
    print(f"{len(verdicts)} cases, {verdicts.count(False)} failed")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
