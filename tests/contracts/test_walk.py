"""The walk in ARCHITECTURE.md, from a call to running code, names things that exist."""

from __future__ import annotations

import importlib
import re
from operator import attrgetter

import pytest

from tests.contracts.tree import ROOT

ROW = re.compile(r"^\| \d \| `(?P<module>triptych[\w.]*): (?P<name>[\w.]+)` \|", re.MULTILINE)
WALK = ROW.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))


def test_walk_has_its_eight_hops() -> None:
    assert len(WALK) == 9, "eight hops; the sixth has two names, the pass list and what runs it"


@pytest.mark.parametrize(("module", "name"), WALK)
def test_hop_exists(module: str, name: str) -> None:
    assert attrgetter(name)(importlib.import_module(module)) is not None
