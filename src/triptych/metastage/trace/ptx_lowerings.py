"""PTX lowerings that programs register for other machines: functions that a trace calls by name only.

They are kept here because compiled code depends on them, though no function mentions them: guards and keys ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LOWERINGS: dict[str, Callable[..., Any]] = {}
"""By the text of the instruction, without its operands."""
