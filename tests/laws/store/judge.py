"""Runs generated programs in processes with other hash seeds, before and after the store has them, and without it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.differential.choices import RandomChoices
from tests.laws.store.programs import files, generate

STARTS = (
    ("first", "1", "one"),
    ("second", "2", "one"),
    ("first", "2", "two"),
    ("second", "1", "two"),
    ("no store", "1", ""),
    ("no store", "2", ""),
)
"""What a start is called, its hash seed, and the store that it uses: each store is filled by the other seed."""


def judge(folder: Path, seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """How many programs ended how, over all starts; and what was not as in Python."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = list(range(count))
    programs = [generate(RandomChoices(random.Random(f"{seed} {n}").randrange(1 << 30)), n) for n in numbers]
    for name, text in files(programs).items():
        (folder / name).write_text(text, encoding="utf-8")
    counts: Counter[str] = Counter()
    failures: list[str] = []
    for start, hash_seed, store in STARTS:
        (folder / "shared_settings.py").write_text(f"K = {len(store)}\n", encoding="utf-8")
        for number, outcome in _outcomes(folder, hash_seed, store, count).items():
            counts[f"{start}: {outcome.split()[0]}"] += 1
            if outcome.startswith("WRONG"):
                failures.append(f"{start}, seed {hash_seed}: {outcome}\n{programs[number].source}")
    return counts, failures


def _outcomes(folder: Path, hash_seed: str, store: str, count: int) -> dict[int, str]:
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "STORE_LAW": "x" * len(store + hash_seed * 2),
        "TRIPTYCH_CACHE": "1" if store else "0",
        "TRIPTYCH_CACHE_DIR": str(folder / f"store {store}"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "run.py", str(count), "argument" * int(hash_seed)]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise AssertionError(ended.stdout[-2000:] + ended.stderr[-4000:])
    lines = (line.partition(" ") for line in ended.stdout.splitlines())
    return {int(number): outcome for number, _, outcome in lines}
