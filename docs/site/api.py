"""API reference: one page for each area, written from the names that its modules export and their docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from triptych.ir.errors import MissingPackageError
from triptych.workbench.api_entries import (
    beginning,
    examples_in,
    kind_of,
    own_docstring,
    public_names,
    signature_of,
)


@dataclass(frozen=True)
class Area:
    """A page, and the modules whose public names it has."""

    page: str
    title: str
    modules: tuple[str, ...]
    says: str


AREAS = (
    Area("base", "Base: `triptych`", ("triptych",), "Decorators, number types, compilation and settings."),
    Area("core", "Core: `triptych.cute`", ("triptych.cute",), "Tensors, layouts, tiled copies and MMA."),
    Area("arch", "Threads: `cute.arch`", ("triptych.cute.arch",), "What a thread, a warp or a block does."),
    Area("math", "Mathematics: `cute.math`", ("triptych.cute.math",), "Functions of numbers and of vectors."),
    Area(
        "nvgpu",
        "Atoms: `cute.nvgpu`",
        tuple(f"triptych.cute.nvgpu{part}" for part in ("", ".warp", ".warpgroup", ".tcgen05", ".cpasync")),
        "Copies and MMA instructions of NVIDIA GPUs.",
    ),
    Area("amdgpu", "Atoms: `cute.amdgpu`", ("triptych.cute.amdgpu",), "MMA instructions of AMD GPUs."),
    Area("layout", "Layout algebra: `triptych.layout`", ("triptych.layout",), "Layouts as Python values."),
    Area(
        "runtime-utils",
        "Arguments and utilities",
        (
            *("triptych.cute.runtime", "triptych.pipeline", "triptych.utils", "triptych.torch", "triptych.jax"),
            *("triptych.cuda", "triptych.cute.testing", "triptych.testing", "triptych.cutlass_dsl", "triptych.ray"),
        ),
        "DLPack and pointers, pipelines, tile schedulers, benchmarking, torch, JAX.",
    ),
    Area("workbench", "Workbench: `triptych.workbench`", ("triptych.workbench",), "Verify, bench, tune and profile."),
    Area(
        "extending",
        "Languages and targets",
        ("triptych.dsl", "triptych.stages", "triptych.hooks"),
        "What another language or target is made of.",
    ),
)

EXAMPLES = Path(__file__).with_name("examples")


def pages(root: Path) -> dict[str, str]:
    """The index, and a page for each area."""
    del root
    documented: dict[int, str] = {}
    shown = examples()
    written = {f"api/{area.page}.md": _page(area, documented, shown) for area in AREAS}
    rows = "\n".join(f"| [{area.title}]({area.page}.md) | {area.says} |" for area in AREAS)
    listing = "\n".join(area.page for area in AREAS)
    says = "Every public name, with an example where there is one; the tests run them."
    table = f"| Area | What is in it |\n|---|---|\n{rows}"
    index = f"# API\n\n{says}\n\n{table}\n\n```{{toctree}}\n:hidden:\n\n{listing}\n```\n"
    return {"api/index.md": index} | written


def examples() -> dict[str, str]:
    """The example of each name, by its full name. The tests run them."""
    return examples_in(EXAMPLES)


def _page(area: Area, documented: dict[int, str], shown: dict[str, str]) -> str:
    parts = [f"# {area.title}\n\n{area.says}\n"]
    for name in area.modules:
        try:
            module = importlib.import_module(name)
        except MissingPackageError as missing:
            parts.append(f"## `{name}`\n\nThis page was built where it cannot be imported: {missing.args[0]}\n")
            continue
        if len(area.modules) > 1:
            parts.append(f"## `{name}`\n\n{_markdown(inspect.getdoc(module) or '')}\n")
        parts.append(beginning(EXAMPLES, name))
        parts += [_entry(module, member, value, documented, shown) for member, value in public_names(module)]
    return "\n".join(parts)


def _entry(module: ModuleType, name: str, value: Any, documented: dict[int, str], shown: dict[str, str]) -> str:
    full = f"{module.__name__}.{name}"
    identity = id(value)
    first = documented.setdefault(identity, full)
    if first != full and (inspect.isclass(value) or inspect.isroutine(value)):
        body = f"The same as {{py:obj}}`{first}`." + (f"\n\n{shown[full]}" if full in shown else "")
        return f"````{{py:data}} {full}\n{body}\n````\n"
    kind, signature = kind_of(value)
    body = _markdown(own_docstring(value) or "")
    if full in shown:
        body += f"\n\n{shown[full]}"
    members = "".join(_members(full, value)) if inspect.isclass(value) else ""
    return f"`````{{py:{kind}}} {full}{signature}\n{body}\n\n{members}`````\n"


def _members(full: str, value: type) -> Iterator[str]:
    """Public methods and properties that the class itself defines and explains."""
    for name, member in sorted(vars(value).items()):
        text = own_docstring(member)
        if name.startswith("_") or not text or not text.strip():
            continue
        kind = "property" if isinstance(member, property) else "method"
        signature = "" if kind == "property" else signature_of(getattr(value, name, member))
        yield f"````{{py:{kind}}} {name}{signature}\n{_markdown(text)}\n````\n\n"


def _markdown(text: str) -> str:
    """A docstring as Markdown: indented programs stay as they are, headings would break the page."""
    return re.sub(r"^#", r"\\#", text, flags=re.MULTILINE)
