"""Warning categories: the first stands for all, so that users can silence or escalate them in one line."""

from __future__ import annotations


class TriptychWarning(UserWarning):
    """Something works, but probably not as meant: a misspelt variable, a plug-in that cannot be loaded."""


class PerformanceWarning(TriptychWarning):
    """Something works, but slower than it could: registers do not suffice, or accesses to memory are narrow."""


class SlowTraceWarning(PerformanceWarning):
    """Compiling takes long because the program becomes long while it is traced."""
