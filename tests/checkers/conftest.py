"""Settings of tests that check kernels."""

from tests.support.runtime_objects import runtime_objects as runtime_objects
