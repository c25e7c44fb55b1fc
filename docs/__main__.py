"""Builder of the documentation site: `python -m docs build`, then `python -m docs check-links`.

The build assembles what a reader sees below one folder: the pages of `docs/` as they are, and those that are written
from the package, so that they cannot say something else (names, errors, settings, commands, examples). Sphinx makes
HTML of it. Each of its warnings is an error, and nothing is fetched from the network.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

import triptych
from docs.site import notebooks, planted_defects
from docs.site.assemble import assemble
from docs.site.links import broken_links
from docs.site.names import unknown_names_of

ROOT = Path(__file__).resolve().parents[1]
BUILT = Path("build/site")


def main() -> int:
    """Run one of the commands; the exit status says whether all was well."""
    parser = argparse.ArgumentParser(prog="python -m docs", description="Build the site and check it.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, purpose in (
        ("build", "write the site"),
        ("check-links", "check every link of the site that was built"),
        ("check-defects", "build a small site with one defect after the other: each must be found"),
    ):
        command = commands.add_parser(name, help=purpose)
        command.add_argument("--folder", type=Path, default=BUILT, help="of the site (default: %(default)s)")
    commands.choices["build"].add_argument("--fresh", action="store_true", help="execute every notebook again")
    commands.choices["build"].add_argument("--json", action="store_true", help="print JSON instead of text")
    arguments = parser.parse_args()
    # commands in notebooks are those of this environment
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if arguments.command == "check-links":
        return check_links(arguments.folder)
    if arguments.command == "check-defects":
        return check_defects()
    return build(arguments.folder, is_fresh=arguments.fresh, as_json=arguments.json)


def build(folder: Path, *, is_fresh: bool = False, as_json: bool = False) -> int:
    """Assemble the pages, make HTML of them, and say what it took."""
    sources = folder / "sources"
    shutil.rmtree(sources, ignore_errors=True)
    pages = assemble(ROOT, sources)
    problems = rendered(folder, is_fresh=is_fresh)
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    if problems:
        return 1
    print(_summary(pages, folder / "html", notebooks.times(folder), as_json=as_json))
    return 0


def rendered(folder: Path, *, is_fresh: bool = False) -> list[str]:
    """Make HTML of the assembled pages; what is wrong with them."""
    from sphinx.cmd.build import build_main

    sources = folder / "sources"
    cache = folder.resolve() / "executed" / notebooks.cache_key(Path(triptych.__file__).parent)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--doctree-dir", str(folder / "doctrees")]
    options += ["-D", f"nb_execution_cache_path={cache}"]
    if is_fresh:
        options += ["-E", "-D", "nb_execution_mode=force"]
    if build_main(["-b", "html", "-c", str(ROOT / "docs"), *options, str(sources), str(folder / "html")]):
        return [planted_defects.FAILED]
    return [*unknown_names_of(sources), *notebooks.finish(folder, cache)]


def check_defects() -> int:
    """Say which planted defects a build does not find."""
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in planted_defects.DEFECTS:
            said = planted_defects.found(name, Path(scratch), rendered)
            is_right = planted_defects.is_found(name, said)
            missed += not is_right
            print(f"{name}: {'; '.join(said) or 'nothing found'}{'' if is_right else ' (WRONG)'}")
    return 1 if missed else 0


def _summary(pages: int, html: Path, times: dict[str, float], *, as_json: bool) -> str:
    """What was built, and what it took, kernels of the notebooks included."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    if as_json:
        return json.dumps({"pages": pages, "folder": str(html), "cpu_seconds": cpu, "notebook_seconds": times})
    rows = [f"{name}: {seconds:.1f} s" for name, seconds in times.items()]
    return "\n".join([*rows, f"{pages} pages in {html}, {len(times)} notebooks, {cpu:.0f} CPU seconds"])


def check_links(folder: Path) -> int:
    """Say which links of the built pages lead nowhere."""
    broken = broken_links(folder / "html")
    for page, link in broken:
        print(f"{page}: {link} leads nowhere", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
