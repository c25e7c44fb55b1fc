"""What the store costs: a look-up among 10 and among 10,000 entries, publishing, eviction, and importing the package.

    python -m benchmarks.store_lookup [--json]

Entries have a record of 2 KB and an object of 30 KB, as small kernels do. Look-ups are of entries at random.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from statistics import median

from benchmarks.rows import Row, run
from triptych.artifact_store import Entry, Store

FEW, MANY = 10, 10_000
OBJECT, INGREDIENTS = 30_000, 40
IMPORT = """
import time
import triptych.support.config
began = time.process_time()
import triptych.artifact_store
print(time.process_time() - began)
"""


def key_of(number: int) -> str:
    return sha256(b"%d" % number).hexdigest()


def entry_of(number: int) -> Entry:
    content = (b"%032d" % number) * (OBJECT // 32)
    return Entry({"ingredients": {f"ingredient {i}": key_of(i)[:16] for i in range(INGREDIENTS)}}, {"object": content})


def microseconds(work: Callable[[int], object], numbers: Sequence[int]) -> float:
    """The median of one call."""
    times = []
    for number in numbers:
        began = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - began)
    return median(times) * 1e6


def measure() -> list[Row]:
    """Few entries, then many, in one directory; the same number of look-ups each."""
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)

        def publish(number: int) -> None:
            store.publish(key_of(number), entry_of(number))

        def find(number: int) -> None:
            assert store.find(key_of(number)) is not None

        def miss(number: int) -> None:
            assert store.find(key_of(-1 - number)) is None

        first = microseconds(publish, range(FEW))
        few = microseconds(find, [draw.randrange(FEW) for _ in range(2000)])
        few_missed = microseconds(miss, range(2000))
        microseconds(publish, range(FEW, MANY - 500))
        last = microseconds(publish, range(MANY - 500, MANY))
        many = microseconds(find, [draw.randrange(MANY) for _ in range(2000)])
        many_missed = microseconds(miss, range(2000))
        began = time.perf_counter()
        pruned = store.prune(1 << 40)
        looked_through = time.perf_counter() - began
    imported = min(
        float(subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, check=True).stdout) for _ in range(5)
    )
    return [
        Row(f"hit among {FEW}", few, "µs"),
        Row(f"hit among {MANY:,}", many, "µs"),
        Row("ratio of hits", many / few, "×", 1.5),
        Row(f"miss among {FEW}", few_missed, "µs"),
        Row(f"miss among {MANY:,}", many_missed, "µs"),
        Row("ratio of misses", many_missed / few_missed, "×", 1.5),
        Row("publish, the first", first, "µs"),
        Row("publish, the last", last, "µs"),
        Row(f"looking through {MANY:,} entries for eviction", looked_through * 1e3, "ms"),
        Row("bytes of one entry", pruned.left / MANY, ""),
        Row("CPU time of importing the store", imported * 1e3, "ms"),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__, measure))
