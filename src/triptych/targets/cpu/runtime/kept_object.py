"""Runtime object file (the thread pool): compiled once for all processes that share a store."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from triptych.artifact_store.configured import default_store
from triptych.artifact_store.record import Entry, NotAnEntry
from triptych.driver.cache_misses import SealedError
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.support.config import config
from triptych.targets.cpu.abi.system import host_info

_OBJECT = "object"


def kept_object(
    name: str, request: Request, text: str, made_by: str = "`triptych build` of a manifest with a kernel"
) -> bytes:
    """The object file of a module of LLVM IR that a request of this machine gives; `made_by` lets a store have it."""
    store = default_store()
    if store is None:
        return _compiled(name, request, text, made_by)
    made_of = json.dumps([name, asdict(request), text, dict(host_info())])
    key = hashlib.sha256(made_of.encode()).hexdigest()

    def make() -> tuple[bytes, Entry]:
        made = _compiled(name, request, text, made_by)
        return made, Entry({"function": name, "target": "cpu"}, {_OBJECT: made})

    return store.find_or_make(key, _kept, make)


def _kept(entry: Entry) -> bytes:
    if entry.artifacts.keys() != {_OBJECT}:
        raise NotAnEntry("no object file")
    return entry.artifacts[_OBJECT]


def _compiled(name: str, request: Request, text: str, made_by: str) -> bytes:
    if config().sealed:
        raise SealedError(
            f"our own {name} is not in the store, and TRIPTYCH_SEALED=1 forbids to compile it here",
            instead=f"{made_by}, on a machine with the same processor",
        )
    return shared_pool().compile(request, text).object
