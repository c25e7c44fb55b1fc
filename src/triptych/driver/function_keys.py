"""Cache keys of one function's specializations: what they have in common is computed once, and guarded."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import FunctionType
from typing import Any, NamedTuple

from triptych.fingerprint.cache_key import Key, KeyBase, key_base
from triptych.fingerprint.guards import Guard, guards, watch
from triptych.hooks import REPLACED_VISITORS
from triptych.metastage.calls.repeatability import LOWERINGS
from triptych.metastage.tracer import Specialization
from triptych.objectstage.target import CompileOptions, Target
from triptych.support.config import config

_MOST = 16
"""Combinations of options and targets that are remembered of one function."""


class _Known(NamedTuple):
    guard: Guard
    others: Guard
    """Watches what is in the key and in no guard of the function."""
    base: KeyBase


class FunctionKeys:
    """The keys of a function, `facts` of which are options of every key: its language, how it is rewritten."""

    def __init__(self, function: FunctionType, facts: Mapping[str, object]) -> None:
        self._function = function
        self._facts = facts
        self._known: dict[Any, _Known] = {}

    def find(
        self,
        specialization: Specialization,
        options: CompileOptions,
        target: Target,
        name: str,
        toolchain: Mapping[str, object],
    ) -> tuple[Guard, Key]:
        """The key of a specialization, and the guard that watches what it was made of."""
        signature, settings = specialization.signature(), config()
        place = (options, target.name, name, settings.debug, settings.break_, settings.gpu, bool(toolchain))
        known = self._known.get(place)
        if known is not None and known.guard() and known.others():
            key = known.base.key(specialization.static, signature)
            if key is not None:
                return known.guard, key
        # Guards are made before keys: a change in between is then noticed.
        guard = guards(self._function, *specialization.static.values(), signature, LOWERINGS, REPLACED_VISITORS)
        others = watch(self._facts)
        base, key = key_base(
            self._function,
            constexprs=specialization.static,
            signature=signature,
            options=self._options(options, target, name),
            toolchain=toolchain,
            target=target.name,
        )
        if base.key(specialization.static, signature) == key:  # plain values, which the guard does not watch
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[place] = _Known(guard, others, base)
        return guard, key

    def _options(self, options: CompileOptions, target: Target, name: str) -> dict[str, object]:
        return {
            **dataclasses.asdict(options),
            "device model": dataclasses.asdict(target.device_model),
            "name": name,
            "debug": config().debug + config().break_,
            "gpu": config().gpu,
            **self._facts,
            **({"instruction meanings": LOWERINGS} if LOWERINGS else {}),
            **({"preprocessing": REPLACED_VISITORS} if REPLACED_VISITORS else {}),
        }
