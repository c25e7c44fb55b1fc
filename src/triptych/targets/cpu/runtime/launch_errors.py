"""Launch errors: a launch that ended early, as the native pool describes it, becomes the exception of the call.

The cause is what a Python signal handler raised (Ctrl-C), or the first check that failed in a thread of the kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from triptych.diagnostics.kernel_errors import DeadlockError, MbarrierError
from triptych.sanitizer.pipeline_protocol import explained
from triptych.support.errors import TriptychError
from triptych.support.forking import import_late
from triptych.support.source import Span
from triptych.targets.cpu.abi.launch_record import LaunchRecord
from triptych.targets.cpu.calling.raising import check_error
from triptych.targets.cpu.runtime.waiting_warps import deadlock, waiting_spans


def stop_cause(address: int) -> BaseException:
    """Called by the pool: what the call that launched is to raise."""
    launch = LaunchRecord.from_address(address)
    if launch.exception:
        return _taken(launch.exception)
    error = _failed_check(launch)
    if not launch.last_stop:
        return error
    framed: BaseException = import_late("triptych.targets.cpu.debugger.failing").with_frames(address, error)
    return framed


def _failed_check(launch: LaunchRecord) -> BaseException:
    if launch.is_waiting and launch.name == DeadlockError.__name__.encode():
        return _explained(_deadlock(launch), waiting_spans(launch.text.decode(), list(launch.waiting)))
    error = check_error(launch.name, launch.text, notes=_place(launch.where, launch))
    return _explained(error) if isinstance(error, MbarrierError) else error


def _explained(error: TriptychError, waiting: Sequence[Span] = ()) -> TriptychError:
    """What is wrong with the calls of a pipeline says more than what is wrong with its barriers.

    That is one with a call at the line of the error, or where a warp waits; another one is told apart from it.
    """
    found, others = explained([*waiting, *([error.span] if error.span is not None else [])])
    if others.is_sure:
        error.notes.append(f"apart from this, about another pipeline: {others.text}")
    if found.text:
        error.notes[:0] = [f"or {error.instead}"] if error.instead and not found.is_sure else []
        error.instead = found.text
    return error


def _deadlock(launch: LaunchRecord) -> DeadlockError:
    words = list(launch.waiting)
    error = deadlock(launch.text.decode(), words)
    error.notes += _place((*words[1:4], launch.where[3]), launch)
    left = launch.total - launch.next_block
    if left > 0 and launch.total > 1:
        error.notes.append(f"{left} of {launch.total} blocks have not begun, and no thread is free for them")
    return error


def _taken(reference: int) -> BaseException:
    """The exception that the record held, with its reference."""
    exception: BaseException = ctypes.cast(reference, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(exception))
    return exception


def _place(where: Sequence[int], launch: LaunchRecord) -> list[str]:
    x, y, z, thread = where
    if thread < 0:
        return []
    rows, column = divmod(thread, launch.block_x)
    plane, row = divmod(rows, launch.block_y)
    return [f"in block ({x}, {y}, {z}), thread ({column}, {row}, {plane})"]
