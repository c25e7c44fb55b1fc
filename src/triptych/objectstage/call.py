"""Loading, the last step of the object-stage: `Compiled -> Loaded`, an artifact that this process can call."""

from __future__ import annotations

from triptych.objectstage.target import Target, host_target
from triptych.stages import Compiled, Loaded


def load(compiled: Compiled, target: Target) -> Loaded:
    """Load for a target. `Loaded.call` is the native entry point itself: no Python stands between."""
    return target.load(compiled)


def load_host(compiled: Compiled) -> Loaded:
    """The host program of a target that runs kernels only."""
    assert compiled.host is not None, "the object-stage has split the program"
    return load(compiled.host(), host_target())
