"""The store that the settings ask for."""

from __future__ import annotations

import os

from triptych.store.store import Store
from triptych.support.config import Config, config

_STORES: dict[tuple[object, ...], Store] = {}
"""One for each combination of settings: most processes have one."""


def default_store() -> Store | None:
    """The store of the settings in force here, or None when it is switched off."""
    settings = config()
    if not settings.cache:
        return None
    asked = (
        settings.cache_dir,
        settings.cache_budget,
        settings.cache_wait,
        settings.cache_shared,
    )
    store = _STORES.get(asked)
    return store if store is not None else _STORES.setdefault(asked, _make(settings))


def _make(settings: Config) -> Store:
    return Store(
        os.path.expanduser(settings.cache_dir or os.path.join("~", ".cache", "triptych")),
        budget=settings.cache_budget << 20,
        patience=settings.cache_wait,
        shared=settings.cache_shared,
    )
