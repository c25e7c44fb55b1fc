"""Hypothesis settings: how many examples a property draws, as a share of the profile's.

No deadline: the first example of a test may import MLIR. The profile `ci` draws few, the same ones on every run;
`pytest --hypothesis-profile nightly` draws more than usual, and new ones.
"""

from __future__ import annotations

from hypothesis import settings

USUAL = 100
"""What Hypothesis draws by itself."""
FEWEST = 5


def load_profile() -> None:
    """Make the profiles known and take `ci`; an option of pytest's command line takes another one afterwards."""
    settings.register_profile("ci", deadline=None, derandomize=True, database=None, max_examples=30)
    settings.register_profile("nightly", deadline=None, database=None, max_examples=200, print_blob=True)
    settings.load_profile("ci")


def examples(usual: int, parent: settings | None = None) -> settings:
    """A property that draws this many examples where others draw a hundred."""
    base = parent or settings()
    return settings(base, max_examples=max(FEWEST, usual * settings().max_examples // USUAL))
