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
        tuple(f"triptych.cute.nvgpu{part}" for part in ("", ".warp", ".warpgroup", ".cpasync")),
        "Copies and MMA instructions of NVIDIA GPUs.",
    ),
    Area("layout", "Layout algebra: `triptych.layout`", ("triptych.layout",), "Layouts as Python values."),
    Area(
        "runtime-utils",
        "Arguments and utilities",
        (
            *("triptych.cute.runtime", "triptych.pipeline", "triptych.utils", "triptych.torch", "triptych.cuda"),
            *("triptych.cute.testing", "triptych.testing", "triptych.cutlass_dsl", "triptych.ray"),
        ),
        "DLPack and pointers, pipelines, tile schedulers, benchmarking, torch.",
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
_EACH = re.MULTILINE | re.DOTALL
_BLOCK = re.compile(r"^## `(\w+)`\n\n(```python\n.*?^```(?:\n\n```text\n.*?^```)?)$", _EACH)
_DESCRIPTORS = (property, staticmethod, classmethod)


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
    """The example of each name, by its full name: blocks under the headings of `examples`. The tests run them."""
    found = {}
    for page in sorted(EXAMPLES.glob("*.md")):
        for name, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
            found[f"{page.stem.replace('-', '.')}.{name}"] = block
    return found


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
        parts.append(_beginning(name))
        parts += [_entry(module, member, value, documented, shown) for member, value in public_names(module)]
    return "\n".join(parts)


def _beginning(module: str) -> str:
    """What the examples of a module begin with: imports, and how they launch kernels."""
    page = EXAMPLES / f"{module.replace('.', '-')}.md"
    if not page.is_file():
        return ""
    block = re.findall(r"^```python\n.*?^```$", page.read_text(encoding="utf-8"), _EACH)[0]
    return f"The examples begin with this:\n\n{block}\n"


def _is_own(module: ModuleType, name: str) -> bool:
    """Whether a name is no private one, and not what the module only imports from elsewhere."""
    origin = getattr(getattr(module, name), "__module__", None)
    return not name.startswith("_") and (origin is None or origin.startswith("triptych"))


def public_names(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module exports, by name. Its own modules have entries of their own."""
    names = getattr(module, "__all__", None) or [name for name in dir(module) if _is_own(module, name)]
    for name in sorted(names, key=str.casefold):
        value = getattr(module, name)
        if not isinstance(value, ModuleType) and name != "__version__":
            yield name, value


def _entry(module: ModuleType, name: str, value: Any, documented: dict[int, str], shown: dict[str, str]) -> str:
    full = f"{module.__name__}.{name}"
    identity = id(value)
    first = documented.setdefault(identity, full)
    if first != full and (inspect.isclass(value) or inspect.isroutine(value)):
        body = f"The same as {{py:obj}}`{first}`." + (f"\n\n{shown[full]}" if full in shown else "")
        return f"````{{py:data}} {full}\n{body}\n````\n"
    kind, signature = _kind(value)
    body = _markdown(_own_docstring(value) or "")
    if full in shown:
        body += f"\n\n{shown[full]}"
    members = "".join(_members(full, value)) if inspect.isclass(value) else ""
    return f"`````{{py:{kind}}} {full}{signature}\n{body}\n\n{members}`````\n"


def _members(full: str, value: type) -> Iterator[str]:
    """Public methods and properties that the class itself defines and explains."""
    for name, member in sorted(vars(value).items()):
        text = _own_docstring(member)
        if name.startswith("_") or not text or not text.strip():
            continue
        kind = "property" if isinstance(member, property) else "method"
        signature = "" if kind == "property" else _signature(getattr(value, name, member))
        yield f"````{{py:{kind}}} {name}{signature}\n{_markdown(text)}\n````\n\n"


def _kind(value: Any) -> tuple[str, str]:
    if inspect.isclass(value):
        return ("exception", "") if issubclass(value, BaseException) else ("class", _signature(value))
    if callable(value) and hasattr(value, "__name__"):
        return "function", _signature(value)
    return "data", ""


def _own_docstring(value: Any) -> str | None:
    """Not that of the class of a constant."""
    text = getattr(value, "__doc__", None)
    explains_itself = (
        inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, property | staticmethod | classmethod)
    )
    if not explains_itself and text == type(value).__doc__:
        return None
    return inspect.cleandoc(text) if isinstance(text, str) else None


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    if parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    text = str(inspect.Signature(parameters))
    return re.sub(r"<[^<>]*(<[^<>]*>)?[^<>]*>", "...", text)


def _markdown(text: str) -> str:
    """A docstring as Markdown: indented programs stay as they are, headings would break the page."""
    return re.sub(r"^#", r"\\#", text, flags=re.MULTILINE)
