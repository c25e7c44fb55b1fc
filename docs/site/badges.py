"""Badges of the README, written from what the package says of itself: version, Pythons, licence.

`python -m docs.site.badges` writes them; a test compares. Those of PyPI and of CI need addresses that do not exist yet.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path
from typing import Any

import triptych

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/images/badges"
_LETTER, _EDGE = 6.4, 6


def badges() -> dict[Path, str]:
    """Each picture by its path."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    kinds = [word.split(" :: ") for word in project["classifiers"]]
    status = next(words[1].partition(" - ")[2] for words in kinds if words[0] == "Development Status")
    pythons = [words[2] for words in kinds if words[:2] == ["Programming Language", "Python"] and "." in words[2]]
    said = {
        "version": f"{triptych.__version__} {status.lower()}",
        "python": " | ".join(pythons),
        "licence": project["license"],
    }
    return {FOLDER / f"{name}.svg": _badge(name, value) for name, value in said.items()}


def _badge(name: str, value: str) -> str:
    left, right = (len(text) * _LETTER + 2 * _EDGE for text in (name, value))
    whole = left + right
    style = "text { font: 11px Verdana, 'DejaVu Sans', sans-serif; fill: #fff; }"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole:.0f}" height="20" viewBox="0 0 {whole:.0f} 20">\n'
        f"<title>{escape(name)}: {escape(value)}</title>\n<style>{style}</style>\n"
        f'<rect width="{whole:.0f}" height="20" rx="3" fill="#555"/>\n'
        f'<rect x="{left:.0f}" width="{right:.0f}" height="20" rx="3" fill="#0969da"/>\n'
        f'<text x="{_EDGE}" y="14" textLength="{left - 2 * _EDGE:.0f}">{escape(name)}</text>\n'
        f'<text x="{left + _EDGE:.0f}" y="14" textLength="{right - 2 * _EDGE:.0f}">{escape(value)}</text>\n</svg>\n'
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in badges().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
