"""Settings every test shares."""

from __future__ import annotations

from hypothesis import settings

# No deadline: the first example of a test may import MLIR. Derandomised, so that a red run can be repeated.
settings.register_profile("triptych", deadline=None, derandomize=True)
settings.load_profile("triptych")
