"""Post-mortem frames: a thread that fails a check in a debugger build adds its frames to the traceback.

Input: the thread's last stop, while its memory is there. Output: an exception whose innermost frames are the kernel's,
with the values that the thread had, so that post-mortem debuggers open there.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from triptych.metastage.debugger.breakpoints import SITES, StopFrame
from triptych.metastage.debugger.frame_values import as_it_was
from triptych.targets.cpu.abi.launch_record import LaunchRecord
from triptych.targets.cpu.debugger.frames import raised_in
from triptych.targets.cpu.debugger.lanes import StoppedWarp

_Frames = list[tuple[StopFrame, dict[str, Any]]]
_FAILED: dict[int, _Frames] = {}
"""By launch, until its error is raised."""


def remember(launch: int, number: int, numbers: int) -> None:
    """Keep the frames of the thread that has failed; of another warp than the one that stopped last, there are none."""
    record, warp, site = LaunchRecord.from_address(launch), StoppedWarp.at(numbers), SITES[number]
    *block, thread = record.where
    lane = thread - warp.first
    if tuple(block) == warp.block and 0 <= lane < warp.width:
        stopped = warp.thread(lane)
        _FAILED[launch] = [
            (frame, {name: as_it_was(shown.show(stopped)) for name, shown in frame.names.items()})
            for frame in site.frames
        ]


def with_frames(launch: int, error: BaseException) -> BaseException:
    """The error as one that the kernel's frames have raised, if they are known."""
    frames = _FAILED.pop(launch, None)
    if not frames:
        return error
    return error.with_traceback(_traceback(error, frames))


def _traceback(error: BaseException, frames: _Frames) -> TracebackType | None:
    """The entries of the kernel's frames alone."""
    files = {frame.file for frame, _ in frames}
    found = raised_in(frames, error)
    while found is not None and found.tb_frame.f_code.co_filename not in files:
        found = found.tb_next
    return found
