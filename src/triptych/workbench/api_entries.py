"""Public names of a module as a reference shows them: signature, docstring, and the example that the tests run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

_EACH = re.MULTILINE | re.DOTALL
_BLOCK = re.compile(r"^## `(\w+)`\n\n(```python\n.*?^```(?:\n\n```text\n.*?^```)?)$", _EACH)


def public_names(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module exports, by name. Its own modules have entries of their own."""
    names = getattr(module, "__all__", None) or [name for name in dir(module) if _is_own(module, name)]
    for name in sorted(names, key=str.casefold):
        value = getattr(module, name)
        if not isinstance(value, ModuleType) and name != "__version__":
            yield name, value


def _is_own(module: ModuleType, name: str) -> bool:
    """Whether a name is no private one, and not what the module only imports from elsewhere."""
    origin = getattr(getattr(module, name), "__module__", None)
    return not name.startswith("_") and (origin is None or origin.startswith("triptych"))


def own_docstring(value: object) -> str | None:
    """Not that of the class of a constant."""
    text = getattr(value, "__doc__", None)
    explains_itself = (
        inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, property | staticmethod | classmethod)
    )
    if not explains_itself and text == type(value).__doc__:
        return None
    return inspect.cleandoc(text) if isinstance(text, str) else None


def signature_of(value: Callable[..., object]) -> str:
    """Parameters and defaults, without annotations."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    if parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    text = str(inspect.Signature(parameters))
    return re.sub(r"<[^<>]*(<[^<>]*>)?[^<>]*>", "...", text)


def kind_of(value: object) -> tuple[str, str]:
    """What a name is, and its signature."""
    if inspect.isclass(value):
        return ("exception", "") if issubclass(value, BaseException) else ("class", signature_of(value))
    if callable(value) and isinstance(getattr(value, "__name__", None), str):
        return "function", signature_of(value)
    return "data", ""


def examples_in(folder: Path) -> dict[str, str]:
    """The example of each name, by its full name: blocks under the headings of pages that are named like modules."""
    found = {}
    for page in sorted(folder.glob("*.md")):
        for name, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
            found[f"{page.stem.replace('-', '.')}.{name}"] = block
    return found


def beginning(folder: Path, module: str) -> str:
    """What the examples of a module begin with: imports, and how they launch kernels."""
    page = folder / f"{module.replace('.', '-')}.md"
    if not page.is_file():
        return ""
    block = re.findall(r"^```python\n.*?^```$", page.read_text(encoding="utf-8"), _EACH)[0]
    return f"The examples begin with this:\n\n{block}\n"
