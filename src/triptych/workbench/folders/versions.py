"""`triptych new`: `<layer>/<design>/<design>[_vN]/`, from a template or from the version before, with a devlog.

What it makes passes `triptych verify` as it stands: one starts from something that works.
"""

from __future__ import annotations

import keyword
import re
import shutil
from pathlib import Path

from triptych.workbench.errors import FolderError

_TEMPLATES = Path(__file__).with_name("templates")
_MARK = "@NAME@"
_VERSION = re.compile(r"^(?P<design>\w+?)(?:_v(?P<number>\d+))?$")
DEVLOG = "DEVLOG.md"
UNSAID = "What changes, and what it should bring: ..."
"""Stands in the devlog until somebody says it."""


def templates() -> list[str]:
    """What a kernel can start from."""
    return sorted(file.name.partition(".")[0] for file in _TEMPLATES.glob("*.py.txt"))


def new_kernel(root: Path, name: str, template: str, layer: str) -> Path:
    """A first version; its folder."""
    if not name.isidentifier() or keyword.iskeyword(name) or _VERSION.fullmatch(name)["number"]:  # type: ignore[index]
        raise FolderError(
            f"{name!r} is no name of a design", expected="a Python identifier without _vN, as fused_softmax"
        )
    design = root / layer / name if layer else root / name
    folder = design / name
    if folder.exists():
        raise FolderError(f"{folder} is there already", instead=f"triptych new {name} --from {name}, the next version")
    text = (_TEMPLATES / f"{template}.py.txt").read_text(encoding="utf-8").replace(_MARK, name)
    _write(folder, name, text)
    (design / "__init__.py").write_text(f'"""Versions of {name}."""\n', encoding="utf-8")
    (design / DEVLOG).write_text(_LOG.replace(_MARK, name), encoding="utf-8")
    return folder


def next_version(root: Path, source: str, layer: str) -> Path:
    """The next `_vN` of a design, a copy of the version that `source` names; its folder."""
    match = _VERSION.fullmatch(source)
    name = match["design"] if match else source
    design = root / layer / name if layer else root / name
    before = design / source
    if not before.is_dir():
        known = ", ".join(versions(design))
        raise FolderError(f"there is no version {source} in {design}", expected=known or "a folder that `new` made")
    numbers = [int(found[1]) for one in versions(design) if (found := re.search(r"_v(\d+)$", one))]
    number = max(numbers, default=1) + 1
    made = f"{name}_v{number}"
    text = (before / f"{source}.py").read_text(encoding="utf-8")
    _write(design / made, made, re.sub(rf"\b{source}(?=\b|_kernel\b)", made, text))
    with (design / DEVLOG).open("a", encoding="utf-8") as log:
        log.write(f"\n## {made}\n\nFrom {source}. {UNSAID}\n")
    return design / made


def versions(design: Path) -> list[str]:
    """The versions of a design, the first first."""
    found = [folder.name for folder in design.glob("*") if (folder / f"{folder.name}.py").is_file()]
    return sorted(found, key=lambda one: (len(one), one))


def _write(folder: Path, name: str, kernel: str) -> None:
    folder.mkdir(parents=True)
    files = {
        "__init__.py": f'"""{name}: kernel, test and benchmark."""\n',
        f"{name}.py": kernel,
        f"test_{name}.py": _TEST.replace(_MARK, name),
        f"bench_{name}.py": _BENCH.replace(_MARK, name),
    }
    try:
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
    except OSError:
        shutil.rmtree(folder)
        raise


_LOG = "# @NAME@\n\nVersions, the latest last: what changed, why, and what it brought.\n"
_TEST = '''"""@NAME@ computes what its reference does."""

from pathlib import Path

from triptych.workbench import load_contract, verify


def test_@NAME@() -> None:
    found = verify(load_contract(Path(__file__).with_name("@NAME@.py"), "@NAME@"))
    assert found.verdict == "pass", found.findings
'''
_BENCH = '''"""How fast @NAME@ is: `python bench_@NAME@.py`, or `triptych bench @NAME@.py`."""

import sys
from pathlib import Path

from triptych.workbench.commands.cli import main

sys.exit(main(["bench", str(Path(__file__).with_name("@NAME@.py")), *sys.argv[1:]]))
'''
