"""Configuration: every setting in one typed table, read once from the environment, overridable in a `with`.

Precedence: call argument > `with override(...)` > environment variable > alias of the variable > default.
This is the only file that reads the environment, so `triptych env` can show all there is.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TextIO, TypeVar

from triptych.support.dataclass import dataclass
from triptych.support.device_model import PRODUCTS
from triptych.support.errors import HELP_COMMAND, TriptychError, TriptychWarning
from triptych.support.remote_url import check_trusted, mistake_in, shown
from triptych.support.setting import BOOLEANS, PREFIX, Alias, Environment, Setting, SettingError, Value
from triptych.support.wording import did_you_mean, nearest

T = TypeVar("T", bool, int, float, str)


GPUS = tuple(PRODUCTS)
_CHECKERS = ("bounds", "races", "init", "global", "async", "all", "break")
_CHECKER = rf"({'|'.join(_CHECKERS)}|barriers|order:\d+|without:\d+\.\d+)"
"""Also what `triptych check` asks for by itself: counts at barriers, another order of warps, a barrier to overlook."""
_PLACE = r"(\d+|\(\d+,\d+(,\d+)?\))"
_LEVELS = ("debug", "info", "warning", "error", "critical")
_LEVEL = rf"({'|'.join(_LEVELS)}|\d+)"


def _setting(default: T, help: str, **facts: object) -> T:
    """One row of the table, typed as its value so that `Config` reads as plain fields; facts as `Setting` has them."""
    may_be_seen = "shown" not in facts
    row: T = dataclasses.field(default=default, metadata={"default": default, "help": help, **facts}, repr=may_be_seen)
    return row


def _nvptx_target(architecture: str, _: Environment) -> str:
    return f"nvptx:{architecture}"


def _keep_directory(switch: str, environment: Environment) -> str:
    return environment.get("CUTE_DSL_DUMP_DIR", ".") if BOOLEANS.get(switch.lower(), True) else ""


def _console_log(switch: str, environment: Environment) -> str:
    return environment.get("CUTE_DSL_LOG_LEVEL", "debug") if BOOLEANS.get(switch.lower(), True) else ""


def _cache_switch(disabled: str, _: Environment) -> str:
    return "0" if BOOLEANS.get(disabled.lower(), True) else "1"


def _cache_directory(shared: str, _: Environment) -> str:
    """A directory of our own in one that may be open to others."""
    return os.path.join(shared, "triptych")


def _cache_home(home: str, _: Environment) -> str:
    """A relative path means nothing there, as that standard says."""
    return os.path.join(home, "triptych") if os.path.isabs(home) else ""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in force. A field `opt_level` is the variable `TRIPTYCH_OPT_LEVEL`."""

    target: str = _setting(
        "",
        "target when the call names none, as 'cpu' or 'nvptx:sm_90a'; empty: chosen by what the machine has",
        aliases=(Alias("CUTE_DSL_ARCH", _nvptx_target),),
    )
    compat: bool = _setting(
        False, "let programs that import `cutlass` run on Triptych, in every process that starts with this variable"
    )
    compile_only: str = _setting(
        "",
        "a folder for what kernels take of a GPU; calls of compiled functions do nothing, as `run --compile-only` asks",
    )
    opt_level: int = _setting(3, "optimisation level of the code generator, 0 to 3", low=0, high=3)
    line_info: bool = _setting(
        False,
        "debuggers and profilers of a GPU can tell the line of an instruction",
        aliases=(Alias("CUTE_DSL_LINEINFO"),),
    )
    workers: int = _setting(2, "number of code generation processes", low=1)
    worker_timeout: float = _setting(300.0, "seconds after which a code generation process is given up", low=0.001)
    slow_trace: float = _setting(
        5.0, "seconds of tracing after which a warning says which line makes the program long; 0: no warning", low=0
    )
    trace_limit: int = _setting(1_000_000, "operations that one function may become while it is traced", low=1)
    unroll_limit: int = _setting(
        10_000, "iterations of one `while` that Python runs while tracing before it is taken for endless", low=1
    )
    threads: int = _setting(0, "threads that run the blocks of a kernel on the CPU; 0: one for each core", low=0)
    block_order: str = _setting(
        "",
        "order of a kernel's blocks on the CPU: 'shuffled', or 'shuffled:7' for another one; empty: in order",
        words=("shuffled",),
        form=r"shuffled(:\d+)?",
    )
    async_: str = _setting(
        "early",
        "when TMA copies and WGMMA execute on the CPU: 'early', where they are issued, 'late', when no warp can go on "
        "without them, or 'seed:7', at random",
        words=("early", "late", "seed"),
        form=r"early|late|seed:\d+",
    )
    assembler: str = _setting(
        "",
        "assembler for NVIDIA GPUs: 'nvjitlink', the library, 'ptxas', the program, or 'driver', which is given PTX "
        "when it loads a kernel; empty: the first installed",
        words=("nvjitlink", "ptxas", "driver"),
    )
    performance_warnings: bool = _setting(
        True, "warn, at its line, of what makes a kernel for a GPU slow: spilled registers, narrow accesses to memory"
    )
    specializations: int = _setting(1024, "compiled versions kept of one function, with LRU eviction", low=1)
    cache: bool = _setting(
        True,
        "keep what is compiled, and use what other processes have compiled",
        aliases=(Alias("CUTE_DSL_DISABLE_FILE_CACHING", _cache_switch),),
    )
    cache_dir: str = _setting(
        "",
        "private directory of compiled code; empty: 'triptych' in the cache directory of the user",
        aliases=(Alias("CUTE_DSL_CACHE_DIR", _cache_directory), Alias("XDG_CACHE_HOME", _cache_home)),
    )
    cache_budget: int = _setting(4096, "MiB that the directory may have, with LRU eviction", low=1)
    cache_wait: float = _setting(
        60.0, "seconds to wait for another thread or process that compiles the same; then compile it too", low=0
    )
    cache_shared: str = _setting("", "directory of compiled code that is read and never written; empty: none")
    cache_remote: str = _setting(
        "",
        "where compiled code is shared: file://, https://, rediss://, or, with a key, http://, redis:// or a URL that "
        "fsspec knows; empty: nowhere",
        mistake_in=mistake_in,
        shown=shown,
    )
    cache_remote_write: bool = _setting(False, "give what is compiled here to the remote store, in the background")
    cache_remote_runs_unverified_code: bool = _setting(
        False, "run what a remote store sends though neither TLS nor a key tells who sent it, and say so at every start"
    )
    cache_remote_timeout: float = _setting(
        2.0, "seconds that a look-up may wait for the remote store, and the end of the process for writes", low=0.001
    )
    cache_key_file: str = _setting(
        "", "file with the key that signs compiled code; with one, what is not signed by it is not used; empty: none"
    )
    sealed: bool = _setting(False, "compile nothing: a program that the store does not have is an error")
    log: str = _setting(
        "",
        "log to stderr: a level, then levels per area, as 'info,compile=debug'; empty: no log",
        aliases=(Alias("CUTE_DSL_LOG_TO_CONSOLE", _console_log),),
        words=_LEVELS,
        form=rf"{_LEVEL}(,[\w.]+={_LEVEL})*|[\w.]+={_LEVEL}(,[\w.]+={_LEVEL})*",
    )
    tune: bool = _setting(
        False,
        "tune a kernel of the workbench that is called for a problem that nobody has tuned, and keep the choice",
    )
    print_ir: bool = _setting(
        False, "print the traced MLIR of every compilation", aliases=(Alias("CUTE_DSL_PRINT_IR"),)
    )
    full_traceback: bool = _setting(
        False, "show the frames of Triptych itself in tracebacks", aliases=(Alias("CUTE_DSL_SHOW_STACKTRACE"),)
    )
    error_help: str = _setting(
        "command",
        "where the last line of an error sends its reader: 'command', to `triptych errors`, the address of a site with "
        "these pages, as 'https://host/docs', or 'off', without that line",
        words=("command", "off", "https"),
        form=r"command|off|https?://\S+",
    )
    gpu: str = _setting(
        "",
        "GPU that host code of public programs sees where there is none, as 'h100' or, with 8 multiprocessors, "
        "'h100:8'; empty: one that the target is for, or 'b200'",
        words=GPUS,
        form=rf"(({'|'.join(GPUS)})(:[1-9]\d{{0,3}})?)?",
    )
    gpus: int = _setting(
        1, "GPUs that programs see where there are none; each process works on one of them", low=1, high=16
    )
    debug: str = _setting(
        "",
        "checkers compiled into kernels, as 'bounds,races,init,global,async', or 'all'; 'break' compiles "
        "`breakpoint()`; empty: none",
        words=_CHECKERS,
        form=rf"{_CHECKER}(,{_CHECKER})*",
    )
    break_: str = _setting(
        "",
        "where a thread of a kernel stops for the debugger, as 'kernels.py:41@0,5': file, line, block and thread; "
        "without '@0,5' the first one that gets there; sets the word 'break' of TRIPTYCH_DEBUG; empty: nowhere",
        form=rf".+:\d+(@{_PLACE},{_PLACE})?",
    )
    keep: str = _setting(
        "",
        "directory that keeps every stage of every compilation as files; empty: keep nothing",
        aliases=(Alias("CUTE_DSL_KEEP_IR", _keep_directory), Alias("CUTE_DSL_KEEP_PTX", _keep_directory)),
    )

    def __post_init__(self) -> None:
        for row in TABLE:
            row.check(getattr(self, row.name), row.name)
        if self.break_ and "break" not in self.debug.split(","):
            object.__setattr__(self, "debug", ",".join(filter(None, (self.debug, "break"))))
        if self.cache_remote:
            check_trusted(
                self.cache_remote,
                is_signed=bool(self.cache_key_file),
                dares=self.cache_remote_runs_unverified_code,
            )

    @property
    def cache_root(self) -> str:
        """The directory of what is kept between processes."""
        return os.path.expanduser(self.cache_dir or os.path.join("~", ".cache", "triptych"))


TABLE = tuple(Setting(row.name, **row.metadata) for row in dataclasses.fields(Config))

_overridden: ContextVar[Config | None] = ContextVar("triptych_config", default=None)
OVERRIDES: list[Config] = []
"""The overrides in force in all threads: empty is the quick answer of the call path."""


def process_environment() -> Any:
    """The environment as programs see and change it: compiled code may depend on a variable of the user's own."""
    return os.environ


def config() -> Config:
    """The settings in force here: the innermost `override`, else the environment as it was at first use."""
    return _overridden.get() or _from_process_environment()


@contextmanager
def override(**changes: Any) -> Iterator[Config]:
    """Change settings inside a `with`, for this thread or task only."""
    known = [row.name for row in TABLE]
    for name in changes.keys() - set(known):
        raise SettingError(
            f"there is no setting {name!r}", expected=f"one of {', '.join(known)}", instead=did_you_mean(name, known)
        )
    changed = dataclasses.replace(config(), **changes)
    token = _overridden.set(changed)
    OVERRIDES.append(changed)
    try:
        yield changed
    finally:
        OVERRIDES.remove(changed)
        _overridden.reset(token)


def read(environment: Environment) -> Config:
    """A `Config` from environment variables; a misspelt `TRIPTYCH_` variable is warned about, not ignored."""
    _warn_unknown(environment)
    values: dict[str, Any] = {}
    for row in TABLE:
        found = row.find(environment)
        if found is not None:
            values[row.name] = row.parse(*found)
    return Config(**values)


def hand_down(**values: Value) -> None:
    """Have every process that is started from here, however it is started, begin with these settings."""
    for row in TABLE:
        if row.name in values:
            value = values[row.name]
            os.environ[row.variable] = str(int(value) if isinstance(value, bool) else value)


@contextmanager
def handed_down(**values: Value) -> Iterator[None]:
    """The same inside a `with`."""
    before = dict(os.environ)
    hand_down(**values)
    try:
        yield
    finally:
        for name in {row.variable for row in TABLE if row.name in values}:
            os.environ.pop(name, None)
            os.environ.update({name: before[name]} if name in before else {})


def current_settings() -> list[tuple[Setting, Value, str]]:
    """Every setting with its value and its origin: `default`, `override` or the variable the value came from."""
    current, inherited = config(), _from_process_environment()
    rows: list[tuple[Setting, Value, str]] = []
    for row in TABLE:
        value = getattr(current, row.name)
        found = row.find(os.environ)
        origin = "override" if value != getattr(inherited, row.name) else found[0] if found else "default"
        rows.append((row, value, origin))
    return rows


def has_colours(stream: TextIO) -> bool:
    """Whether text for people may have colours there, by the conventions that terminals and CI services share."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and hasattr(stream, "isatty") and stream.isatty()


def _where_is_help(code: str) -> str:
    """The page of an error. The variable is asked alone: another one may be what the error is about."""
    changed = _overridden.get()
    place = changed.error_help if changed else os.environ.get(f"{PREFIX}ERROR_HELP", "").strip() or "command"
    if place == "off":
        return ""
    return f"{place.rstrip('/')}/errors/{code}.html" if place.startswith("http") else f"{HELP_COMMAND} {code}"


TriptychError.where_is_help = _where_is_help


@cache
def _from_process_environment() -> Config:
    return read(os.environ)


def _warn_unknown(environment: Environment) -> None:
    known = {row.name: row.variable for row in TABLE}
    for variable in sorted(environment):
        if variable.startswith(PREFIX) and variable not in known.values():
            # Compared without the prefix: it alone would make everything look alike.
            guess = nearest(variable.removeprefix(PREFIX), known)
            hint = f"did you mean {known[guess]}?" if guess else "`python -m triptych env` lists the known ones"
            warnings.warn(f"unknown environment variable {variable}: {hint}", TriptychWarning, stacklevel=2)
