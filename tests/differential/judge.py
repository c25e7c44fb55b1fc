"""Judging programs in another process, so that a crash or an endless loop is a verdict too, not the end of the run."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from tests.differential.oracle import agree
from tests.differential.program import Program

P = TypeVar("P")

LIFETIME = 400
"""Programs one process judges before a new one takes over, which bounds what loaded code adds up to in memory."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A program that failed: `kind` is the same for all programs with the same bug."""

    kind: str
    report: str


def judge(program: Program) -> Failure | None:
    """Judge in this process."""
    try:
        disagreement = agree(program)
    except Exception as error:
        return Failure(f"the oracle itself failed: {type(error).__name__}", f"{error}\n{program.source}")
    return None if disagreement is None else Failure(disagreement.kind(), str(disagreement))


def _serve(connection: Connection[Failure | None, Any], judge: Callable[[Any], Failure | None]) -> None:
    while (program := connection.recv()) is not None:
        connection.send(judge(program))


class Judge(Generic[P]):
    """A process that judges one program at a time; it is replaced when it dies, hangs or has grown old."""

    def __init__(self, timeout: float, judge: Callable[[P], Failure | None]) -> None:
        self.timeout = timeout
        self._judge = judge
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        serve: Callable[..., None] = _serve
        self._process = context.Process(target=serve, args=(theirs, self._judge), daemon=True)
        self._process.start()
        theirs.close()
        self._judged = 0

    def submit(self, program: P) -> None:
        """Hand over a program; `verdict` must be called before the next."""
        if self._judged >= LIFETIME:
            self.close()
            self._start()
        self._judged += 1
        self._program = program
        self.connection.send(program)

    def verdict(self) -> Failure | None:
        """Wait for the answer about the submitted program."""
        try:
            if self.connection.poll(self.timeout):
                answer: Failure | None = self.connection.recv()
                return answer
            kind = "no answer in time"
        except EOFError:
            self._process.join()
            kind = f"the process died: {_cause(self._process.exitcode or 0)}"
        self._process.kill()
        self._process.join()
        self._start()
        return Failure(kind, f"{kind}\n{self._program}")

    def judge(self, program: P) -> Failure | None:
        """Submit and wait."""
        self.submit(program)
        return self.verdict()

    def close(self) -> None:
        """End the process."""
        self.connection.send(None)
        self._process.join(5)
        self._process.kill()


def _cause(exit_code: int) -> str:
    return signal.Signals(-exit_code).name if exit_code < 0 else f"exit code {exit_code}"
