"""Scripts of public repositories on the CPU: each is run as it is, and says how it ended.

    python -m benchmarks.third_party_scripts FOLDER ... [--patience 120] [--only wgmma]

FOLDER is a checkout; the scripts are the files of it that import the language and have something to do when they are
run. What they check themselves is what is checked. A row has the seconds, or the first line that says why not; the last
line counts.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.third_party import kernel_files

_CAUSE = re.compile(r"^(?:\[rank\d+\]: )?(\w[\w.]*(Error|Exception|Interrupt|Failed)\b|error)")
_MAIN = re.compile(rb"^if __name__ ==|^[a-z]\w*\(", re.MULTILINE)


def outcome(
    script: Path,
    patience: int,
    *words: str,
    options: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """A word for how `triptych run OPTIONS SCRIPT WORDS` ended, and its seconds or the first cause."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "triptych", "run", *options, script.name, *words],
        cwd=script.parent,
        env={**os.environ, **(settings or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # with the processes that it has started
        process.communicate()
        return "slow", f"no end after {patience} s"
    if process.returncode == 0:
        return "passed", f"{time.monotonic() - began:.0f} s"
    lines = [line.strip() for line in printed.splitlines() if _CAUSE.match(line.strip())]
    cause = lines[-1] if lines else f"exit {process.returncode}"
    word = "absent" if re.search(r"No module named|TT0506|FileNotFoundError", cause) else "failed"
    return word, cause[:200]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--patience", type=int, default=120, metavar="SECONDS")
    parser.add_argument("--only", default="", metavar="TEXT", help="scripts whose path has it")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for folder in given.folders:
        for script in kernel_files(folder.resolve()):
            if _MAIN.search(script.read_bytes()) and given.only in str(script):
                word, why = outcome(script, given.patience)
                counts[word] += 1
                print(f"| {script.relative_to(folder.resolve())} | {word} | {why} |", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.most_common()))


if __name__ == "__main__":
    main()
