"""`triptych run --gpus 4`: a process for each GPU, with the variables that `torchrun` gives to its ranks.

A program that makes its processes itself (`torch.multiprocessing.spawn`), or that a launcher has made already, is run
once, and sees as many GPUs. When one rank fails, the others are given time to say whom they waited for, since a rank
that waits in a kernel or at a barrier finds out by itself, and are ended after that.
"""

from __future__ import annotations

import ast
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from triptych.support.config import process_environment

_RANK = "RANK"
_MAKERS = frozenset({"spawn", "start_processes", "Process", "ProcessPoolExecutor", "Pool"})
"""Calls that make processes, of `torch.multiprocessing` and Python's own module."""
_MODULES = ("multiprocessing", "concurrent")
_PATIENCE = 15.0
"""Seconds for the other ranks after one has failed."""
_LOOK = 0.05


def makes_processes(text: str) -> bool:
    """Whether a program starts its ranks itself."""
    try:
        found = list(ast.walk(ast.parse(text)))
    except SyntaxError:  # Python says so when it runs the program
        return False
    imported = [alias.name for node in found if isinstance(node, ast.Import) for alias in node.names]
    imported += [node.module or "" for node in found if isinstance(node, ast.ImportFrom)]
    if not any(part in _MODULES for name in imported for part in name.split(".")):
        return False
    called = (node.func for node in found if isinstance(node, ast.Call))
    return any((f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")) in _MAKERS for f in called)


def is_rank() -> bool:
    """Whether a launcher has made this process one of several."""
    return _RANK in process_environment()


def run_ranks(count: int, command: Sequence[str]) -> int:
    """Run a command once for each rank; the exit code of the first that fails."""
    shared = _shared_variables(count)
    ranks = [_start(rank, command, shared) for rank in range(count)]
    try:
        return _watch(ranks)
    finally:
        for process in ranks:
            if process.poll() is None:
                process.kill()
            process.wait()


def _shared_variables(count: int) -> Mapping[str, str]:
    given = process_environment()
    found = {
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "TORCHELASTIC_RUN_ID": "triptych",
    }
    usual = {"OMP_NUM_THREADS": "1", **({"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {})}
    return {**usual, **given, **found}


def _start(rank: int, command: Sequence[str], shared: Mapping[str, str]) -> subprocess.Popen[bytes]:
    own = {_RANK: str(rank), "LOCAL_RANK": str(rank)}
    return subprocess.Popen(command, env={**shared, **own})


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _watch(ranks: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait for all; once one has failed, for a while only."""
    first, until = 0, 0.0
    reported: set[int] = set()
    while len(reported) < len(ranks):
        for rank, process in enumerate(ranks):
            code = process.poll()
            if code is None or rank in reported:
                continue
            reported.add(rank)
            if code:
                print(f"triptych: rank {rank} of {len(ranks)} {_how(code)}", file=sys.stderr, flush=True)
                first, until = first or (code if code > 0 else 128 - code), until or time.monotonic() + _PATIENCE
        if first and time.monotonic() > until:
            waiting = sorted(set(range(len(ranks))) - reported)
            names = ", ".join(map(str, waiting))
            print(f"triptych: rank {names} waited {_PATIENCE:.0f} s longer, and is ended", file=sys.stderr, flush=True)
            return first
        time.sleep(_LOOK)
    return first


def _how(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    reasons = {
        "SIGSEGV": ": outside of a kernel, nobody can read or write memory that stands for all GPUs",
        "SIGBUS": ": there was no room for memory that ranks share; /dev/shm may be small",
    }
    return f"was ended by {name}{reasons.get(name, '')}"


def command_of(words: Sequence[str]) -> list[str]:
    """The same command line in a process of its own."""
    return [sys.executable, "-m", "triptych", *words]


def text_of(program: str) -> str:
    """The text of a script; a notebook, a module or what cannot be read has none."""
    if not program.endswith(".py") or not os.path.exists(program):
        return ""
    with open(program, encoding="utf-8", errors="replace") as file:
        return file.read()
