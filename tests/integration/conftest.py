"""Settings of tests of whole programs, some of which are checked."""

from tests.support.runtime_objects import runtime_objects as runtime_objects
