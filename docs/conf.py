"""Sphinx configuration of the site. `python -m docs build` assembles the pages and calls Sphinx with it."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

import triptych
from docs.site import plain, search

project = "Triptych"
author = "The Triptych developers"
copyright = author
version = release = triptych.__version__

extensions = ["myst_nb", "sphinx_copybutton", "sphinx_design", "docs.site.notebooks"]
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.strikethrough"]
nitpicky = True
default_role = "code"

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 60
nb_execution_in_temp = True
nb_merge_streams = True

html_theme = "furo"
html_title = f"Triptych {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
copybutton_exclude = ".linenos, .gp, .go"
highlight_language = "none"
python_display_short_literal_types = True
toc_object_entries = False  # names of the API would be most of every side bar


def setup(app: Sphinx) -> None:
    """Pages as Markdown, and the data of the search, are written when pages as HTML are."""
    app.connect("build-finished", _publish)
    app.connect("html-page-context", _search_scripts)


def _publish(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        plain.publish(Path(app.srcdir), Path(app.outdir))
        search.publish(Path(app.srcdir), Path(app.outdir))


def _search_scripts(app: Sphinx, page: str, *_: object) -> None:
    if page == "search":
        app.add_js_file(search.DATA)
        app.add_js_file(search.SCRIPT)
