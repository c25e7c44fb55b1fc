"""Builder of the documentation site: `python -m docs build`, then `python -m docs check-links`.

The build assembles what a reader sees below one folder: the pages of `docs/` as they are, and those that are written
from the package, so that they cannot say something else (names, errors, settings, commands, examples). Sphinx makes
HTML of it. Each of its warnings is an error, and nothing is fetched from the network.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from docs.site.assemble import assemble
from docs.site.links import broken_links

ROOT = Path(__file__).resolve().parents[1]
BUILT = Path("build/site")


def main() -> int:
    """Run one of the two commands; the exit status says whether all was well."""
    parser = argparse.ArgumentParser(prog="python -m docs", description="Build the site and check its links.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, purpose in (("build", "write the site"), ("check-links", "check every link of the site that was built")):
        command = commands.add_parser(name, help=purpose)
        command.add_argument("--folder", type=Path, default=BUILT, help="of the site (default: %(default)s)")
    arguments = parser.parse_args()
    return build(arguments.folder) if arguments.command == "build" else check_links(arguments.folder)


def build(folder: Path) -> int:
    """Assemble the pages, make HTML of them, and say what it took."""
    from sphinx.cmd.build import build_main

    began = time.process_time()
    sources, html = folder / "sources", folder / "html"
    shutil.rmtree(sources, ignore_errors=True)
    pages = assemble(ROOT, sources)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--doctree-dir", str(folder / "doctrees")]
    status: int = build_main(["-b", "html", "-c", str(ROOT / "docs"), *options, str(sources), str(html)])
    if status == 0:
        print(f"{pages} pages in {html}, {time.process_time() - began:.0f} CPU seconds")
    return status


def check_links(folder: Path) -> int:
    """Say which links of the built pages lead nowhere."""
    broken = broken_links(folder / "html")
    for page, link in broken:
        print(f"{page}: {link} leads nowhere", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
