"""The artifact store: what has been compiled once, kept as files for other processes, users and machines.

An entry is a small record (`ac/`, by key) and its artifacts (`cas/`, by digest). Nothing is executed or unpickled while
it is read, and nothing is believed: every digest is computed again. The store knows nothing of compilers; it stands on
`support` and the standard library, so that a process that finds what it needs loads no compiler.
"""

from __future__ import annotations

from triptych.artifact_store.configured import default_store
from triptych.artifact_store.events import StoreEvent, StoreWarning, add_hook
from triptych.artifact_store.record import JSON, Checked, Entry, Listed, Pruned
from triptych.artifact_store.store import Store

__all__ = [
    "JSON",
    "Checked",
    "Entry",
    "Listed",
    "Pruned",
    "Store",
    "StoreEvent",
    "StoreWarning",
    "add_hook",
    "default_store",
]
