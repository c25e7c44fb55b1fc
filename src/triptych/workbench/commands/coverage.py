"""`triptych coverage PATH...`: which public names programs use, which of them are here, and what comes next.

Names are read from the source (`public_uses.py`). Nothing of a program is run or imported, so a program for any machine
can be asked.
"""

from __future__ import annotations

import ast
import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from triptych.compat import activated
from triptych.compat.later import Later
from triptych.compat.public_names import HOMES, ROOT, TIERS, WITH_LIBRARIES, tier_of, tier_of_module, when
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.workbench.commands.public_uses import Sources, Use

OTHER = "other"
"""The tier of names that no public example uses."""


class CoverageError(TriptychError, ValueError):
    """`triptych coverage` was asked about a path that is not there."""

    code = "TT0709"


@dataclass(frozen=True, slots=True)
class Name:
    """A public name that programs use."""

    name: str
    tier: str
    is_here: bool
    files: int
    first: str
    """Where it is used first, as FILE:LINE."""
    next: str
    """What to do about it; empty for a name that is here."""


def coverage(paths: Sequence[Path], *, as_json: bool = False) -> str:
    """The names that the programs under the paths use, as text or JSON."""
    for path in paths:
        if not path.exists():
            raise CoverageError(f"there is no {path}", expected="a file or a folder of programs")
    sources = Sources()
    files = [file for path in paths for file in sources.programs(path)]
    read, unreadable = _read(sources, sources.that_can_name(files))
    names = _names(read)
    here = {name.name for name in names if name.is_here}
    complete = [file for file, used in read.items() if used and {use.name for use in used} <= here]
    using = [file for file, used in read.items() if used]
    if as_json:
        facts = {"files": len(using), "complete_files": sorted(map(str, complete)), "unreadable": unreadable}
        return json.dumps({**facts, "names": [asdict(name) for name in names]}, indent=2)
    lines = [*_table(names), ""]
    lines += [f"{len(using)} of {len(files)} files use the language; {len(complete)} of them only names that are here"]
    lines += [f"not Python: {file}" for file in unreadable]
    return "\n".join([*lines, *_missing([name for name in names if not name.is_here])])


def _missing(names: Sequence[Name]) -> Iterator[str]:
    """What is not here, under its tier and when that comes."""
    for (tier, after), group in groupby(sorted(names, key=_by_tier), key=lambda name: (name.tier, name.next)):
        title = f", {TIERS[tier].title}" if tier in TIERS else ""
        yield f"\nnot here: {tier}{title} ({after})"
        rows = [(f"  {name.name}", f"{name.files} file{'s' * (name.files > 1)}", name.first) for name in group]
        yield from _aligned(rows)


def _read(sources: Sources, files: Sequence[Path]) -> tuple[dict[Path, list[Use]], list[str]]:
    read: dict[Path, list[Use]] = {}
    unreadable: list[str] = []
    for file in files:
        try:
            read[file] = sources.uses(file)
        except (SyntaxError, ValueError):
            unreadable.append(str(file))
    return read, unreadable


def _names(read: dict[Path, list[Use]]) -> list[Name]:
    """By tier and by what comes next, and then the name first that most files use."""
    used: dict[str, list[Use]] = {}
    for found in read.values():
        for use in found:
            used.setdefault(use.name, []).append(use)
    with activated():
        return sorted((_name(name, where) for name, where in used.items()), key=_by_tier)


def _by_tier(name: Name) -> tuple[int, str, int, str]:
    return [*TIERS, OTHER].index(name.tier), name.next, -name.files, name.name


def _name(name: str, where: Sequence[Use]) -> Name:
    module = name.rpartition(".")[0]
    tier = tier_of(name) or (None if module in HOMES else tier_of_module(module)) or OTHER
    here = _is_here(name)
    after = "" if here else when(name, tier) if tier in TIERS else "is it spelt so?"
    return Name(name, tier, here, len(where), f"{where[0].file}:{where[0].line}", after)


def _is_here(name: str) -> bool:
    """Whether a program that asks for the name gets it; of a module beside a library that is absent, what it lists."""
    module, _, attribute = name.rpartition(".")
    if module in WITH_LIBRARIES and importlib.util.find_spec(module.rpartition(".")[2]) is None:
        return attribute in _listed(HOMES[module])
    try:
        found = attrgetter(name.removeprefix(f"{ROOT}."))(importlib.import_module(ROOT))
    except (AttributeError, ImportError):
        return False
    return not isinstance(found, Later)


def _listed(module: str) -> list[str]:
    """The names that a module imports, which cannot be imported itself."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return []
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return [
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]


def _table(names: Sequence[Name]) -> list[str]:
    rows = [("tier", "", "names used", "here", "not here")]
    for tier in (*TIERS, OTHER):
        of_tier = [name for name in names if name.tier == tier]
        if of_tier:
            here = sum(name.is_here for name in of_tier)
            title = TIERS[tier].title if tier in TIERS else "names that no public example uses"
            rows.append((tier, title, str(len(of_tier)), str(here), str(len(of_tier) - here)))
    here = sum(name.is_here for name in names)
    rows.append(("all", "", str(len(names)), str(here), str(len(names) - here)))
    return list(_aligned(rows))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
