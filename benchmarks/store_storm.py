"""Not speed: processes that need the same entries of an empty store at once, while some of them are killed.

    python -m benchmarks.store_storm [--rounds 200] [--processes 16] [--keys 8] [--kills 6] [--folder DIR] [--json]

In each round every process looks for every key, in an order of its own, and makes what it does not find. Without kills
each entry is made once. With kills (SIGKILL, at random moments) a killed maker costs one more; whoever lives has the
right content of all, no file is torn, and nobody waits for longer than the patience of a claim. With `--also`, every
other process reaches the same directory by another path, as by a second mount point.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path

from triptych.artifact_store import Entry, Store

ROUNDS, PROCESSES, KEYS, KILLS = 200, 16, 8, 6
PATIENCE = 20.0
"""Seconds that a process waits for another."""
SECONDS = 0.01
"""For making one entry."""
SIZE = [32_000]
"""Bytes of an object: large ones are written for longer than they are made, and kills hit that."""


@dataclass
class Counts:
    """Of one round, or of all."""

    rounds: int = 0
    made: int = 0
    """Entries whose making began."""
    killed: int = 0
    wrong: int = 0
    """Processes that had other content than they should, or ended otherwise than they should."""
    stuck: int = 0
    torn: int = 0
    """Files that are not what their digest says."""
    too_many: int = 0
    """Entries that were made more often than kills explain."""
    claims: int = 0
    """Files of claims that are left; the next flight of their key removes them."""
    slowest: float = 0.0
    """Seconds of the process that took longest."""

    def add(self, other: Counts) -> None:
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            setattr(self, field.name, max(mine, theirs) if field.name in ("slowest", "claims") else mine + theirs)

    @property
    def is_right(self) -> bool:
        return not (self.wrong or self.stuck or self.torn or self.too_many)


def entry_of(number: int) -> Entry:
    """What the maker of a key makes."""
    content = sha256(b"%d" % number).digest() * (SIZE[0] // 32)
    return Entry({"number": number}, {"object": content, "mlir": b"module {}"})


def need(store: Store, number: int, log: int) -> Entry:
    """Find an entry or make it, as the compiler does."""
    key = sha256(b"key %d" % number).hexdigest()
    found = store.find(key)
    if found is not None:
        return found
    with store.flight(key):
        found = store.find(key)
        if found is not None:
            return found
        os.write(log, b"%c" % number)
        time.sleep(SECONDS)
        made = entry_of(number)
        store.publish(key, made)
        return made


def process(folder: Path, keys: int, seed: int, gate: int, log: int) -> bool:
    """All that one process does; whether all it got was right."""
    order = random.Random(seed).sample(range(keys), keys)
    store = Store(str(folder), patience=PATIENCE)
    os.read(gate, 1)  # ends when the parent closes its side
    return all(need(store, number, log) == entry_of(number) for number in order)


def start(folders: list[Path], processes: int, keys: int, seed: int, log: int) -> list[int]:
    """Fork them all, and let them begin at once."""
    gate, opener = os.pipe()
    pids = []
    for number in range(processes):
        pid = os.fork()
        if not pid:
            try:
                os.close(opener)
                os._exit(0 if process(folders[number % len(folders)], keys, seed * 1000 + number, gate, log) else 1)
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
                os._exit(2)
        pids.append(pid)
    os.close(gate)
    os.close(opener)
    return pids


def wait(pids: list[int], victims: set[int], counts: Counts) -> None:
    """Until all have ended, or somebody is stuck."""
    began, left = time.monotonic(), set(pids)
    while left:
        for pid in list(left):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                left.discard(pid)
                was_killed = pid in victims and os.WIFSIGNALED(status)
                counts.killed += was_killed
                counts.wrong += status != 0 and not was_killed
        counts.slowest = time.monotonic() - began
        if counts.slowest > PATIENCE + 30:
            counts.stuck += len(left)
            for pid in left:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            return
        time.sleep(0.001)


def storm(folders: list[Path], processes: int, keys: int, kills: int, seed: int) -> Counts:
    """One round on an empty store, which all these folders are."""
    counts, draw, folder = Counts(rounds=1), random.Random(seed), folders[0]
    path = folder.parent / f"{folder.name}.log"
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    pids = start(folders, processes, keys, seed, log)
    victims = set(draw.sample(pids, kills))
    for pid in victims:
        time.sleep(draw.random() * 2 * keys * SECONDS / max(1, kills))
        os.kill(pid, signal.SIGKILL)
    wait(pids, victims, counts)
    os.close(log)
    counts.made = path.stat().st_size
    store = Store(str(folder))
    left = list((folder / "claims").iterdir())
    checked = store.verify()
    counts.torn = len(checked.discarded) + (checked.good != keys)
    counts.too_many = max(0, counts.made - keys - counts.killed)
    counts.claims = len(left)
    return counts


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = {"rounds": ROUNDS, "processes": PROCESSES, "keys": KEYS, "kills": KILLS, "seed": 1, "bytes": SIZE[0]}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", help="where the stores are made, as on a network; a temporary one if not given")
    parser.add_argument("--also", help="another path to that folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    SIZE[0] = options.bytes
    total = Counts()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for number in range(options.rounds):
            places = [Path(folder, f"s{number}")]
            places += [Path(options.also, Path(folder).name, f"s{number}")] if options.also else []
            total.add(storm(places, options.processes, options.keys, options.kills, options.seed + number))
    result = asdict(total)
    print(json.dumps(result) if options.json else ", ".join(f"{what}: {count}" for what, count in result.items()))
    return int(not total.is_right)


if __name__ == "__main__":
    sys.exit(main())
