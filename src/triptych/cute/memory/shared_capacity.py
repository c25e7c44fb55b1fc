"""How much shared memory one block can have."""

from __future__ import annotations

import re

from triptych.targets.nvptx.description.architectures import ARCHITECTURES


def get_smem_capacity_in_bytes(compute_capability: str | None = None) -> int:
    """For an architecture such as "sm_80", "sm_90a" or "80"; without a name the most that any has.

    The CPU target has as much as the largest.
    """
    capacities = {architecture.generation: architecture.shared_of_a_block for architecture in ARCHITECTURES.values()}
    if compute_capability is None:
        return max(capacities.values())
    named = re.fullmatch(r"(?:sm_)?(\d+)[af]?", compute_capability)
    if named is None or int(named[1]) not in capacities:
        known = ", ".join(ARCHITECTURES)
        raise ValueError(f"no architecture is called {compute_capability!r}; there are {known}")
    return capacities[int(named[1])]
