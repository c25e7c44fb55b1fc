"""Breaks of the public API against a git reference, found by griffe: `python .ci/api_breaks.py [REFERENCE]`.

Without a reference it is the last tag before this commit; where there is none yet, nothing is compared.
Public is what tests/contracts/public_api.txt lists. Internal modules may change, so a break counts only where a listed
name is defined.
Exit codes: 0 nothing broke, 1 something did.
"""

from __future__ import annotations

import functools
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import griffe

PROMISED = Path("tests/contracts/public_api.txt")
_COLOUR = re.compile(r"\x1b\[\d+m")


def last_tag() -> str:
    found = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0", "HEAD^"], capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


def promised(text: str) -> dict[str, str]:
    """Where each listed name of this version is defined, and how users spell it."""
    found = {}
    for name in (line.partition(" ")[0] for line in text.splitlines()):
        value = resolved(name)
        module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        found[f"{module}.{qualified}" if module and qualified else name] = name
    return found


def resolved(name: str) -> object:
    """The object of a dotted name; None where it is gone or cannot be imported here."""
    parts = name.split(".")
    for known in range(len(parts) - 1, 0, -1):
        try:
            module: ModuleType = importlib.import_module(".".join(parts[:known]))
            return functools.reduce(getattr, parts[known:], module)
        except (ImportError, AttributeError):
            continue
    return None


def breaks(reference: str) -> list[str]:
    before = griffe.load_git("triptych", ref=reference, search_paths=["src"], allow_inspection=False)
    after = griffe.load("triptych", search_paths=["src"], allow_inspection=False)
    listed = subprocess.run(
        ["git", "show", f"{reference}:{PROMISED}"], capture_output=True, text=True, check=True
    ).stdout
    names = promised(listed)
    gone = sorted({line.partition(" ")[0] for line in listed.splitlines() if resolved(line.partition(" ")[0]) is None})
    said = [f"{name} is gone" for name in gone]
    for change in griffe.find_breaking_changes(before, after):
        where = change.obj.canonical_path
        name = next((name for place, name in names.items() if where == place or where.startswith(f"{place}.")), None)
        if name is not None:
            text = change.explain(griffe.ExplanationStyle.ONE_LINE)
            said.append(f"{name}: {_COLOUR.sub('', text)}")
    return said


def main() -> int:
    reference = sys.argv[1] if len(sys.argv) > 1 else last_tag()
    if not reference:
        print(f"there is no tag to compare with; {PROMISED} is what is promised")
        return 0
    found = breaks(reference)
    print("\n".join([*found, f"{len(found)} breaks of the public API since {reference}"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
