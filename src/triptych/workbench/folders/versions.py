"""Versions of kernels: `triptych new` makes `<layer>/<design>/<design>[_vN]/`, `triptych devlog add` tells figures.

A new folder is made from a template or from the version before, with a devlog. What it makes passes `triptych verify`
as it stands: one starts from something that works. An entry has figures of records, of a version and of the one that
it is compared with.
"""

from __future__ import annotations

import keyword
import math
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from triptych.support.dataclass import dataclass
from triptych.workbench.errors import FolderError
from triptych.workbench.units import time_text

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

_VERDICTS = {"comparison": "verdict against the version before", "baseline": "verdict against the baseline"}
_STATIC = {"registers": "", "shared": "bytes", "spilled": "bytes", "blocks_at_once": ""}
_SECTIONS = ("Overview", "Source", "Performance", "Patterns Extracted", "Insights")


@dataclass(frozen=True, slots=True)
class Static:
    """What kernels take of a GPU by the assembler's numbers: of this version, and of the one before if known."""

    target: str
    now: Mapping[str, Mapping[str, Any]]
    """By kernel."""
    before: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def entry(
    record: dict[str, Any],
    before: dict[str, Any] | None,
    overview: str,
    compared: dict[str, Any] | None = None,
    static: Static | None = None,
) -> str:
    """One entry, as Markdown; what nobody can know from records is left to be written.

    `compared` is the record of `triptych bench A B`, which has the verdict.
    """
    name = Path(record["file"]).stem
    commit = f", commit {record['commit'][:12]}{' and changes' if record['dirty'] else ''}" if record["commit"] else ""
    texts = {
        "Overview": overview or "What this version does, and why: ...",
        "Source": f"`{name}.py`, digest {record['digest'][:12]}{commit}, measured {record['made']}",
        "Performance": _performance(record, before, compared, static),
        "Patterns Extracted": "- ...",
        "Insights": "- ...",
    }
    return "\n".join([f"\n## {name}\n", *(f"### {section}\n\n{texts[section]}\n" for section in _SECTIONS)])


def add_entry(folder: Path, text: str) -> Path:
    """Append to the devlog of the design that a version's folder belongs to, in the place of what `new` left there."""
    file = devlog_of(folder)
    log = file.read_text(encoding="utf-8") if file.is_file() else ""
    stub = _stub(log, folder.name)
    file.write_text((log.replace(stub, "") if stub else log) + text, encoding="utf-8")
    return file


def planned(folder: Path) -> str:
    """What was written of a version before it was measured: the overview of its entry."""
    file = devlog_of(folder)
    log = file.read_text(encoding="utf-8") if file.is_file() else ""
    text = _stub(log, folder.name).partition(f"## {folder.name}\n")[2].strip()
    return text.replace(UNSAID, "").strip()


def devlog_of(folder: Path) -> Path:
    """The file of a version's design."""
    return folder.parent / DEVLOG if (folder.parent / DEVLOG).is_file() else folder / DEVLOG


def _stub(log: str, version: str) -> str:
    """A section of a version without subsections, at the end: what `new --from` makes, and what a user adds to it."""
    found = re.search(rf"\n## {re.escape(version)}\n(?:(?!\n##).)*\Z", log, re.DOTALL)
    return found[0] if found and "###" not in found[0] else ""


def _performance(
    record: dict[str, Any], before: dict[str, Any] | None, compared: dict[str, Any] | None, static: Static | None
) -> str:
    facts = record["machine"]
    load = f", load {facts['load'][0]:.1f}" if facts["load"] else ""
    lines = ["| case | metric | before | now | delta |", "|---|---|---|---|---|"]
    old = {case["case"]: case for case in before["cases"]} if before is not None else {}
    for case in record["cases"]:
        for metric, value, unit in _metrics(case):
            was = next((past for name, past, _ in _metrics(old.get(case["case"], {})) if name == metric), None)
            lines.append(_row(case["case"], metric, was, value, unit))
    for case in (*record["cases"], *(compared["cases"] if compared is not None else ())):
        for kind in ("comparison", "baseline"):
            if kind in case:
                lines.append(f"| {case['case']} | {_VERDICTS[kind]} | | {case[kind]['text']} | |")
    lines += _static_rows(static) if static is not None else []
    lines += ["", f"{facts['model']}{load}, target {record['target']}."]
    if static is None:
        lines += ["Registers, occupancy and shared memory: not asked for (`--target nvptx:sm_80` needs no GPU)."]
    return "\n".join([*lines, "Durations and share of peak on a GPU: not known, because there was none."])


def _static_rows(static: Static) -> Iterator[str]:
    for kernel, used in static.now.items():
        was = next((one for name, one in static.before.items() if name == kernel), None)
        if was is None and len(static.before) == len(static.now) == 1:
            (was,) = static.before.values()  # the same kernel under the version's name
        for metric, unit in _STATIC.items():
            past, now = (was or {}).get(metric), used.get(metric)
            if now is not None:
                yield _row(f"{kernel}, {static.target}", metric.replace("_", " "), past, now, unit)


def _row(case: str, metric: str, was: float | None, value: float, unit: str) -> str:
    delta = f"{100 * (value / was - 1):+.1f} %" if was else ""
    return f"| {case} | {metric} | {_number(was, unit)} | {_number(value, unit)} | {delta} |"


def _metrics(case: dict[str, Any]) -> list[tuple[str, float, str]]:
    found = [(f"duration, {kind}", case[kind]["median"], "s") for kind in ("hot", "cold") if kind in case]
    work = case.get("work") or {}
    if "of_roof" in work:
        found.append(("share of the roof", 100 * work["of_roof"], "%"))
    return found


def _number(value: float | None, unit: str) -> str:
    if value is None or not math.isfinite(value):
        return ""
    return time_text(value) if unit == "s" else f"{value:.4g} {unit}".rstrip()
