"""`triptych verify` on every kernel example and every other file that is named: one line each, with its worst number.

python -m benchmarks.verified_examples [--seeds 5] [FILE ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples" / "kernels"
CONTRACTS = ("def kernel_fn", "PLAN =")


def examples() -> list[Path]:
    """Those that are contract files; what only prints has nothing to verify."""
    files = sorted(EXAMPLES.glob("*.py"))
    return [file for file in files if any(name in file.read_text(encoding="utf-8") for name in CONTRACTS)]


def verified(file: Path, seeds: int) -> str:
    """The verdict of the command, and its line."""
    started = time.perf_counter()
    words = [sys.executable, "-m", "triptych", "verify", str(file), "--seeds", str(seeds), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    took = time.perf_counter() - started
    if not done.stdout:
        print(f"{file.name:24} exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}", flush=True)
        return "error"
    found = json.loads(done.stdout)
    worst = max(one["of_bound"] for outputs in found["numbers"].values() for one in outputs) if found["numbers"] else 0
    said = "; ".join(f"{one['reason']}: {one['text'][:80]}" for one in found["findings"])
    print(
        f"{file.name:24} {found['verdict']}  {len(found['numbers'])} cases x {len(found['seeds'])} seeds, "
        f"{worst:.2f} of the bound, {took:.0f} s  {said}",
        flush=True,
    )
    return str(found["verdict"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    verdicts = [verified(file, chosen.seeds) for file in chosen.files or examples()]
    print(f"{verdicts.count('pass')} of {len(verdicts)} pass")
    raise SystemExit(verdicts.count("pass") != len(verdicts))


if __name__ == "__main__":
    main()
