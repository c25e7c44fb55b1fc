"""Programs that XLA calls: their texts, their place in the handler's table, and where another process finds them.

Input: a compiled function, and where each of its arguments comes from. Output: a text, the one attribute of the call.
It says which program that is (the digest of its entry in the store), for which tools and machine it was compiled, and
how its arguments are packed, so that a process that has only the text can read the program from the store.
"""

from __future__ import annotations

import _thread
import ctypes
import json
import re
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from triptych.artifact_store.configured import default_store
from triptych.artifact_store.record import JSON, Entry
from triptych.diagnostics.tensor_errors import MissingProgramError
from triptych.driver.compiling import CompiledFunction
from triptych.driver.jitting import toolchain
from triptych.driver.stored_programs import entry_of, program_of
from triptych.fingerprint.cache_key import Key
from triptych.frameworks.xla_handler import (
    ADD_PROGRAM,
    ERROR_TEXT,
    FIND_PROGRAM,
    HANDLER,
    PYTHON_FUNCTIONS,
    handler_code,
)
from triptych.frameworks.xla_structs import CONSTANT, CONSTANTS, INPUT, NUMBER, OUTPUT, CallProgram, Item
from triptych.ir.errors import PackageVersionError
from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request
from triptych.objectstage.target import Target, find_target
from triptych.stages import Loaded
from triptych.support.errors import TriptychError
from triptych.support.forking import PerProcess
from triptych.targets.cpu.abi.abi import BOOL_TAG, FLOAT_TAG, INT_TAG
from triptych.targets.cpu.runtime.kept_object import kept_object

TARGET = "triptych_call"
"""What XLA knows the handler as."""
PLATFORM = "cpu"
_FORMAT = "triptych-1"

Source: TypeAlias = tuple[str, int] | tuple[str, int, tuple[int, ...]] | bool | int | float
"""Where an argument comes from: ("input", i) or ("output", i), with an order of modes if it is another than the
array's; ("number", i), the only element of an input; or a number that is known."""

_KINDS = {"input": INPUT, "output": OUTPUT, "number": NUMBER}
_LOCK = PerProcess()
"""Of the table: one thread adds at a time."""
_DIGESTS: WeakKeyDictionary[CompiledFunction, str] = WeakKeyDictionary()
_PROGRAMS: dict[bytes, tuple[Any, ...]] = {}
"""All that the handler's table refers to, by texts: programs of XLA's may be called as long as the process lives."""


def program_text(compiled: CompiledFunction, sources: Sequence[Source], inputs: int, outputs: int) -> str:
    """The text of a compiled function whose arguments come from these places, which the handler then knows."""
    digest, loaded = _stored_digest(compiled), compiled._loaded
    plan = json.dumps([inputs, outputs, list(sources)], separators=(",", ":"))
    text = f"{digest} {_FORMAT} {_environment(find_target(PLATFORM))} {plan}"
    with _LOCK.here():
        if text.encode() not in _PROGRAMS:
            _add(text.encode(), loaded, sources, inputs, outputs)
    return text


def _stored_digest(compiled: CompiledFunction) -> str:
    """Let the store have the program by what it is; its digest there."""
    if compiled in _DIGESTS:
        return _DIGESTS[compiled]
    loaded, target = compiled._loaded, find_target(PLATFORM)
    entry = entry_of(loaded, target, Key("", {}), compiled._rebuild)
    if isinstance(entry, str):  # no process but this one has it
        own = loaded.compiled.artifact + repr(loaded.compiled.lowered.traced.parameters).encode()
        return _DIGESTS.setdefault(compiled, sha256(own).hexdigest())
    digest, store = _digest(entry), default_store()
    if store is not None and not store.has(digest):
        store.publish(digest, entry)
    return _DIGESTS.setdefault(compiled, digest)


def _digest(entry: Entry) -> str:
    found = sha256(json.dumps(entry.facts, sort_keys=True).encode())
    for name, content in sorted(entry.artifacts.items()):
        found.update(name.encode() + sha256(content).digest())
    return found.hexdigest()


@cache
def _environment(target: Target) -> str:
    """The tools and the machine that code is for."""
    return sha256(json.dumps(toolchain(target), sort_keys=True).encode()).hexdigest()[:16]


def _add(text: bytes, loaded: Loaded, sources: Sequence[Source], inputs: int, outputs: int) -> None:
    """Put a program into the handler's table."""
    items, orders = (Item * len(sources))(), []
    for item, source in zip(items, sources, strict=True):
        if isinstance(source, bool | int | float):
            item.kind, item.tag, item.payload = CONSTANT, *_packed(source)
            continue
        item.kind, item.index = _KINDS[source[0]], source[1]
        if len(source) == 3:
            orders.append((ctypes.c_int64 * len(source[2]))(*source[2]))
            item.order, item.rank = ctypes.addressof(orders[-1]), len(source[2])
    content = ctypes.create_string_buffer(text, len(text))
    program = CallProgram(
        text=ctypes.addressof(content),
        size=len(text),
        entry=loaded.address,
        count=len(sources),
        items=ctypes.addressof(items),
        inputs=inputs,
        outputs=outputs,
    )
    _PROGRAMS[text] = (program, content, items, orders, loaded)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_HANDLER[-1].library[ADD_PROGRAM])(ctypes.addressof(program))


def _packed(number: bool | float) -> tuple[int, int]:
    """The tag and the bits of a number."""
    if isinstance(number, bool):
        return BOOL_TAG, int(number)
    if isinstance(number, int):
        return INT_TAG, number
    return FLOAT_TAG, struct.unpack("<q", struct.pack("<d", number))[0]


# what the handler asks Python ---------------------------------------------------------------------------------------
def _find_program(address: int, size: int) -> None:
    """Called for a text that is not in the table, as in a process that has not compiled the program."""
    text = ctypes.string_at(address, size)
    with _LOCK.here():
        if text in _PROGRAMS:  # another thread has just asked
            return
        digest, form, environment, plan = (*text.decode(errors="replace").split(" ", 3), "", "", "", "")[:4]
        target = find_target(PLATFORM)
        if form != _FORMAT or environment != _environment(target):
            raise MissingProgramError(
                "this call was exported where Triptych has another version, or for another kind of processor",
                found=f"the program {digest[:16]}, compiled elsewhere",
                expected="the same version of Triptych, on the same kind of processor",
                instead="`jax.export` once more, on a machine like this one",
            )
        inputs, outputs, sources = _read_plan(plan)
        _add(text, _read(digest, target), sources, inputs, outputs)


def _read_plan(plan: str) -> tuple[int, int, list[Source]]:
    """How arguments are packed. Native code follows it, so nothing is believed."""
    try:
        inputs, outputs, written = json.loads(plan)
        sources = [_read_source(each, {"input": inputs, "number": inputs, "output": outputs}) for each in written]
        if type(inputs) is not int or type(outputs) is not int:
            raise ValueError("a number of arrays")
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise MissingProgramError(
            "the text of this call does not say how its arguments are packed",
            found=f"{plan!r}: {error}",
            expected="what `triptych.jax` has written",
            instead="`jax.export` once more",
        ) from None
    return inputs, outputs, sources


def _read_source(each: JSON, counts: Mapping[str, int]) -> Source:
    if isinstance(each, bool | int | float):
        return each
    if not isinstance(each, list):
        raise TypeError(f"no source {each!r}")
    read: list[Any] = each
    kind, index, *orders = read
    if type(index) is not int or not 0 <= index < counts[kind] or len(orders) > 1:
        raise ValueError(f"no array {index!r}")
    if not orders:
        return kind, index
    if any(type(mode) is not int for mode in orders[0]) or sorted(orders[0]) != list(range(len(orders[0]))):
        raise ValueError(f"no order of modes {orders[0]!r}")
    return kind, index, tuple(orders[0])


def _read(digest: str, target: Target) -> Loaded:
    store = default_store()
    found = None if store is None else store.read(digest, lambda entry: program_of(entry, target, _unknown)[0])
    if found is not None:
        return found
    raise MissingProgramError(
        "the compiled program of this call is not here",
        found=f"no program {digest[:16]} in "
        + ("the store, which TRIPTYCH_CACHE=0 switches off" if store is None else f"the store {store.root}"),
        expected="the store of the process that exported the call, or a copy of it",
        instead="TRIPTYCH_CACHE_DIR for both processes, or `triptych cache export` there and `triptych cache import` "
        "here; or trace the function in this process",
    )


def _unknown() -> Loaded:
    raise MissingProgramError(
        "the stages of a program that was found by its digest cannot be shown",
        found="a program of another process",
        expected="the function that it was compiled from",
    )


def _error_text(error: BaseException) -> bytes:
    """What XLA is told. An interrupt ends the call, and then reaches the main thread once more."""
    if isinstance(error, KeyboardInterrupt):
        _thread.interrupt_main()
    text = error.text() if isinstance(error, TriptychError) else f"{type(error).__name__}: {error}"
    return text.encode(errors="replace").replace(b"\0", b"\\0")


# the handler --------------------------------------------------------------------------------------------------------
_HANDLER: list[LoadedObject] = []


def interface_minor(headers: Path) -> int:
    """The version of XLA's interface that is installed: newer ones of the same major version have all of ours."""
    header = (headers / "xla/ffi/api/c_api.h").read_text(encoding="utf-8")
    found = {name: int(number) for name, number in re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", header)}
    if found["MAJOR"] != CONSTANTS["XLA_FFI_API_MAJOR"]:
        raise PackageVersionError(
            "this version of jaxlib has another interface for calls than `triptych.jax` knows",
            found=f"version {found['MAJOR']}.{found['MINOR']} of XLA's foreign function interface",
            expected=f"version {CONSTANTS['XLA_FFI_API_MAJOR']}",
        )
    return found["MINOR"]


def load_handler(minor: int) -> int:
    """The address of the function that XLA calls, which says that it was made for this version of the interface.

    Its code is compiled once for all processes that share a store.
    """
    python: Any = ctypes.pythonapi
    imports = {  # an object's identity is its address
        FIND_PROGRAM: id(_find_program),
        ERROR_TEXT: id(_error_text),
        **{name: ctypes.cast(getattr(python, name), ctypes.c_void_p).value or 0 for name in PYTHON_FUNCTIONS},
    }
    request, made_by = Request(opt_level=2, emit=("object",)), "`import triptych.jax` once with this store"
    made = kept_object("handler of XLA's calls", request, handler_code(minor), made_by)
    _HANDLER.append(load_object(made, HANDLER, imports, ADD_PROGRAM))
    return _HANDLER[-1].address
