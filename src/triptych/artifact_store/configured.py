"""Configuration of the store: the tiers that the settings ask for."""

from __future__ import annotations

import os

from triptych.artifact_store.events import warn_once
from triptych.artifact_store.record import Signer
from triptych.artifact_store.store import Store
from triptych.support.config import Config, config
from triptych.support.forking import import_late

_STORES: dict[tuple[object, ...], Store | None] = {}
"""One for each combination of settings: most processes have one."""


def default_store() -> Store | None:
    """The store of the settings in force here; None when it is switched off, or its key cannot be had."""
    settings = config()
    if not settings.cache:
        return None
    asked = (
        settings.cache_dir,
        settings.cache_budget,
        settings.cache_wait,
        settings.cache_shared,
        settings.cache_remote,
        settings.cache_remote_write,
        settings.cache_remote_runs_unverified_code,
        settings.cache_remote_timeout,
        settings.cache_key_file,
    )
    if asked not in _STORES:
        _STORES.setdefault(asked, _make(settings))
    return _STORES[asked]


def _make(settings: Config) -> Store | None:
    signer: Signer | None = None
    if settings.cache_key_file:
        try:
            signer = import_late("triptych.artifact_store.record").read_signer(
                os.path.expanduser(settings.cache_key_file)
            )
        except (OSError, ValueError, ImportError) as error:
            text = f"the store of compiled code is off: the key in {settings.cache_key_file} cannot be used ({error})"
            warn_once(text, text)
            return None
    remote = None
    if settings.cache_remote:
        remote = import_late("triptych.artifact_store.remote").Remote(
            settings.cache_remote,
            timeout=settings.cache_remote_timeout,
            writes=settings.cache_remote_write,
            signer=signer,
            dares=settings.cache_remote_runs_unverified_code,
        )
    return Store(
        settings.cache_root,
        budget=settings.cache_budget << 20,
        patience=settings.cache_wait,
        shared=os.path.expanduser(settings.cache_shared),
        remote=remote,
        signer=signer,
    )
