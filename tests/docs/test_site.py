"""The site: links follow pages and files to their places, every public name has an entry, broken links are found."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import triptych
from docs.site import api, badges, first_screen, gallery, reference
from docs.site.assemble import assemble, moved_links
from docs.site.links import broken_links
from docs.site.plain import ENDING, MOST_LINES, listing, plain, publish
from triptych.workbench.api_entries import public_names

ROOT = Path(__file__).resolve().parents[2]
NEEDS_LIBRARIES = {"triptych.jax": "jax", "triptych.torch": "torch"}
MODULES = [
    name
    for area in api.AREAS
    for name in area.modules
    if name not in NEEDS_LIBRARIES or find_spec(NEEDS_LIBRARIES[name])
]
MOST_WITHOUT_A_DOCSTRING = 6
"""It only falls."""


def test_everything_is_assembled(tmp_path: Path) -> None:
    """Sphinx is not needed for this: a link to a file that is not there is an error here already."""
    count = assemble(ROOT, tmp_path)
    pages = sorted(tmp_path.rglob("*.md"))
    assert len(pages) == count
    toctrees = (tmp_path / "index.md").read_text(encoding="utf-8")
    reached = [page for page in sorted((ROOT / "docs/guides").glob("*.md")) if f"\nguides/{page.stem}\n" in toctrees]
    assert reached == sorted((ROOT / "docs/guides").glob("*.md")), "each guide is in one of the groups"
    _check_plain_pages(tmp_path, pages)


def _check_plain_pages(sources: Path, pages: list[Path]) -> None:
    html = sources / "html"
    publish(sources, html)
    assert len(list(html.rglob(f"*{ENDING}"))) == len(pages)
    lines = (html / "llms.txt").read_text(encoding="utf-8").splitlines()
    assert lines == list(listing(sources))
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if line.startswith("- ") and not re.search(r"\): .*[.:]$", line)] == []
    for page in (html / "llms.txt", *html.rglob(f"*{ENDING}")):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"^[`:]{3,}\{", text, re.MULTILINE), f"{page} needs Sphinx"
        for link in re.findall(rf"\]\(([^)\s:#]+{re.escape(ENDING)})", text):
            assert (page.parent / link).is_file(), f"{page} links to {link}"


def test_plain_pages_need_no_sphinx() -> None:
    page = (
        "---\norphan: true\n---\n\n# Title\n\n:::{grid-item-card} Card\n:link: guides/x\n:link-type: doc\n\nIts\n"
        "text.\n:::\n\n`````{py:class} a.B(c)\nSee {py:obj}`d` and [e](e.md#f).\n\n````{py:method} g()\nDoes.\n"
        "````\n`````\n\n```{toctree}\n:hidden:\n\nx\n```\n\n```{code-cell} ipython3\n:tags: [t]\nprint(1)\n```\n"
    )
    assert plain(page) == (
        "# Title\n\n- [Card](guides/x.html.md): Its text.\n\n### `a.B(c)`\n\nSee `d` and [e](e.html.md#f).\n\n"
        "#### `g()`\n\nDoes.\n\n```python\nprint(1)\n```\n"
    )


@pytest.mark.parametrize(
    ("source", "link", "expected"),
    [
        ("docs/guides/kernels.md", "../../examples/kernels/softmax.py", "../gallery/softmax.md"),
        ("docs/guides/kernels.md", "../../examples/kernels", "../gallery/index.md"),
        ("docs/glossary.md", "errors.md", "errors/index.md"),
        ("ARCHITECTURE.md", "docs/guides/kernels.md#blocks", "guides/kernels.md#blocks"),
        ("ARCHITECTURE.md", "src/triptych/hooks.py", "files/src/triptych/hooks.py"),
        ("docs/guides/kernels.md", "https://llvm.org", "https://llvm.org"),
    ],
)
def test_links_follow_what_they_name(tmp_path: Path, source: str, link: str, expected: str) -> None:
    places = {
        "docs/guides/kernels.md": "guides/kernels.md",
        "docs/glossary.md": "glossary.md",
        "docs/errors.md": "errors/index.md",
        "ARCHITECTURE.md": "architecture.md",
        "examples/kernels": "gallery/index.md",
        **gallery.places(ROOT),
    }
    code = f"`x[f]({link})`\n```python\nx = [f]({link})\n```\n"
    moved = moved_links(f"See [this]({link}).\n{code}", ROOT, source, places, tmp_path)
    assert moved == f"See [this]({expected}).\n{code}"
    if expected.startswith("files/"):
        assert (tmp_path / expected).is_file()


def test_a_link_to_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"README.md links to docs/no-such-page.md"):
        moved_links("[x](docs/no-such-page.md)", ROOT, "README.md", {"README.md": "index.md"}, tmp_path)


def test_broken_links_of_the_built_site_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there"><a href="#here"><a href="https://x.org">')
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html#nowhere"><img src="gone.svg">')
    assert broken_links(tmp_path) == [("b.html", "a.html#nowhere"), ("b.html", "gone.svg")]


def test_first_screen_shows_what_the_checker_says() -> None:
    written = first_screen.PICTURE.read_text(encoding="utf-8")
    assert written == first_screen.picture(), "run `python -m docs.site.first_screen`"


def test_badges_say_what_the_package_says() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path, text in badges.badges().items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m docs.site.badges`"
        assert path.relative_to(ROOT).as_posix() in readme


def test_readme_fits_its_length() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    assert lines.index("## First kernel") <= 25


def test_changelog_is_for_readers() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert re.search(rf"^## {re.escape(triptych.__version__)} - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
    headings = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert headings <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Known limits", "Tested with"}


def test_each_error_has_a_page() -> None:
    pages = reference.pages(ROOT)
    assert "errors/TT0101.md" in pages
    assert pages["errors/TT0630.md"].count("\nimport triptych as tt\n") == 2, "programs are whole"
    assert all(f"[{Path(page).stem}]" in pages["errors/index.md"] for page in pages if page.startswith("errors/TT"))


@pytest.mark.parametrize("name", MODULES)
def test_introspection_of_every_public_name(name: str) -> None:
    """`help`, `inspect` and completion ask for every attribute, and expect AttributeError where there is none."""
    for member, value in public_names(importlib.import_module(name)):
        inspect.getmembers(value)
        hasattr(value, "mlir_type")
        if inspect.isclass(value) or inspect.isroutine(value):
            shown = pydoc.plain(pydoc.render_doc(value))
            assert member in shown or value.__name__ in shown


FEWEST_EXAMPLES = 528
"""It only rises. The tests of the pages run them."""


def test_examples_belong_to_public_names() -> None:
    names = {f"{name}.{member}" for name in MODULES for member, _ in public_names(importlib.import_module(name))}
    found = api.examples()
    assert set(found) <= names
    assert all(name.rpartition(".")[2] in block for name, block in found.items())
    headings = sum(page.read_text(encoding="utf-8").count("\n## ") for page in api.EXAMPLES.glob("*.md"))
    assert len(found) == headings, "each heading is a name in backticks, and a block of Python follows"
    assert len(found) >= FEWEST_EXAMPLES


def test_public_names_explain_themselves() -> None:
    silent = [
        f"{name}.{member}"
        for name in MODULES
        for member, value in public_names(importlib.import_module(name))
        if not (value.__doc__ or "").strip()
    ]
    assert len(silent) <= MOST_WITHOUT_A_DOCSTRING, silent
