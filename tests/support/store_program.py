"""A program that needs entries of a store and makes what it does not find, for tests of what it runs into.

    python -m tests.support.store_program FOLDER [ENTRIES [BYTES]]

It prints, as JSON, how many entries were right, how many were found the second time, what warnings were given, and how
long the slowest took. It fails if anything is raised, or an entry is wrong.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings

from tests.support.stores import entry_of, key_of
from triptych.artifact_store.configured import default_store
from triptych.support.config import override


def main(folder: str, entries: int = 40, size: int = 20_000) -> None:
    """Need all entries twice."""
    limit = os.environ.get("LARGEST_FILE")
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    found, slowest = 0, 0.0
    with warnings.catch_warnings(record=True) as caught, override(cache=True, cache_dir=folder):
        warnings.simplefilter("always")
        store = default_store()
        assert store is not None
        for turn in range(2):
            for number in range(entries):
                began = time.monotonic()
                entry = store.find(key_of(number))
                if entry is None:
                    with store.flight(key_of(number)):
                        entry = store.find(key_of(number)) or entry_of(number, size)
                        store.publish(key_of(number), entry)
                else:
                    found += turn
                assert entry == entry_of(number, size)
                slowest = max(slowest, time.monotonic() - began)
        store.flush()
    texts = [str(one.message) for one in caught]
    print(json.dumps({"right": 2 * entries, "found": found, "warnings": texts, "slowest": slowest}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
