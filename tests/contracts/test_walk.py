"""The walks in ARCHITECTURE.md, from a call and from a launch to running code and to a GPU, name things that exist."""

from __future__ import annotations

import importlib
import re
from operator import attrgetter

import pytest

from tests.contracts.tree import ROOT

ROW = re.compile(r"^\| (?P<hop>\d) \| `(?P<module>triptych[\w.]*): (?P<name>[\w.]+)` \|", re.MULTILINE)
WALK = ROW.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))


def test_walks_have_all_their_hops() -> None:
    call, launch, gpu = [*"123456678"], [*"123456677899"], [*"12345678"]
    assert [hop for hop, _, _ in WALK] == call + launch + gpu, (
        "some hops have two names, as a pass list and what runs it"
    )


@pytest.mark.parametrize(("module", "name"), [(module, name) for _, module, name in WALK])
def test_hop_exists(module: str, name: str) -> None:
    assert attrgetter(name)(importlib.import_module(module)) is not None
