"""The one warning category, so that users can silence or escalate everything Triptych warns about in one line."""

from __future__ import annotations


class TriptychWarning(UserWarning):
    """Something works, but probably not as meant: a misspelt variable, a plug-in that cannot be loaded."""
