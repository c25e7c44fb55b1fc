"""What can be wrong with the use of the machine's own functions."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class DeviceOnlyError(TriptychError, RuntimeError):
    """A function of the device is called where no kernel is being traced: there are no threads there."""

    code = "TT0405"
