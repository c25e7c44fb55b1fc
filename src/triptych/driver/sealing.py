"""Sealed processes compile nothing: what they miss is an error, with the line that would have had it built."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from triptych.artifact_store.store import Store
from triptych.driver.cache_misses import explain
from triptych.driver.compile_jobs import Job
from triptych.fingerprint.cache_key import Key
from triptych.metastage.arguments.specs import ArgumentSpec
from triptych.metastage.values.promotion import PYTHON_NUMBERS
from triptych.support.config import config
from triptych.support.errors import TriptychError

UNWRITTEN = "..."
"""An argument that only the program can make."""
_NUMBERS = {PYTHON_NUMBERS[kind]: repr(kind()) for kind in PYTHON_NUMBERS}
"""What is written for a number of these types: its value does not matter."""


class SealedError(TriptychError, RuntimeError):
    """A process that must not compile (`TRIPTYCH_SEALED=1`) needs a program that nobody has built for it."""

    code = "TT0718"


def check_unsealed(job: Job, key: Key, store: Store | None) -> None:
    """Refuse to compile where nothing may be compiled; without a store, for a program that it would not have."""
    if not config().sealed:
        return
    name = job.function.__qualname__
    listing = f"`{name}.explain_key(...)` with these arguments lists what the key is made of"
    if store is None:
        reason = "programs that trace anew, read what only this process has, or find no store are never kept"
        raise SealedError(
            f"{name} would be compiled here, and TRIPTYCH_SEALED=1 forbids it",
            span=job.called_from,
            found="a program that the store does not keep" if config().cache else "TRIPTYCH_CACHE=0",
            expected="a program that was built before",
            instead=f"`triptych cache why FILE:{name}`" if config().cache else "TRIPTYCH_CACHE=1",
            notes=[reason, listing],
        )
    miss = explain(store, key, job.name, job.target.name)
    raise SealedError(
        f"{name} was not built for these arguments, and TRIPTYCH_SEALED=1 forbids to compile it here",
        span=job.called_from,
        found=f"no program {key.digest} for {job.target.name} in {store.root}",
        expected="a program that `triptych build` has made",
        instead=f"this line among the `JOBS` of the manifest: `{manifest_line(job)},`",
        notes=[*([str(miss)] if miss.nearest else []), listing],
    )


def manifest_line(job: Job) -> str:
    """The job as a manifest has it."""
    words = ["tt.compile", job.function.__qualname__]
    for name, parameter in inspect.signature(job.function, follow_wrapped=False).parameters.items():
        static, shape = job.specialization.static, job.specialization.shapes.get(name)
        text = _constant(static[name]) if shape is None else _argument(shape)
        words.append(f"{name}={text}" if parameter.kind is parameter.KEYWORD_ONLY else text)
    return f"partial({', '.join(words)})"


# Any: a value that is part of the program.
def _constant(value: Any) -> str:
    if isinstance(value, FunctionType | type) or isinstance(getattr(value, "function", None), FunctionType):
        return str(getattr(value, "function", value).__qualname__)
    if type(value) is tuple:
        return f"({''.join(f'{_constant(part)}, ' for part in value)})"
    return repr(value) if value is None or type(value) in (bool, int, float, str, bytes) else UNWRITTEN


def _argument(shape: ArgumentSpec) -> str:
    if shape.dtype:
        return _NUMBERS.get(shape.dtype, f"tt.{shape.dtype}(0)")
    if shape.kind is not None:
        example = getattr(shape.kind, "example", "")
        return f"tt.example({example!r})" if example else UNWRITTEN
    if shape.parts is None:
        return repr(shape.static)
    if shape.parts.key[0] in (tuple, list):
        parts = "".join(f"{_argument(part)}, " for part in shape.shapes)
        return f"({parts})" if shape.parts.key[0] is tuple else f"[{parts}]"
    return UNWRITTEN
