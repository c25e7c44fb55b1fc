"""A module that acts when it is imported."""

from interposed_action import action  # type: ignore[import-not-found]

action()
