"""Argument parsing and help pages of the command line.

A command, a choice or an option that is almost right is answered with what is right, and a number that would make a
command do nothing is refused: what has not run has not passed. Each page of `triptych COMMAND --help` has a purpose of
one line, which `triptych` lists too, and examples that the command line accepts as they are; a test reads them all.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from triptych.support.dataclass import dataclass
from triptych.support.wording import did_you_mean

_CHOICE = re.compile(r"invalid choice: '?([^' ]*)'? \(choose from (.*)\)")


class CommandLine(argparse.ArgumentParser):
    """A parser, and its commands."""

    def error(self, message: str) -> NoReturn:
        """End with the usage of the command, and with what was likely meant."""
        found = _CHOICE.search(message)
        guess = did_you_mean(found[1], re.findall(r"[\w-]+", found[2])) if found else ""
        super().error(f"{message}; {guess}" if guess else message)


def parsed(
    parser: CommandLine, commands: Mapping[str, argparse.ArgumentParser], argv: Sequence[str] | None
) -> argparse.Namespace:
    """The arguments. What is left over is told by the command that does not take it."""
    arguments, rest = parser.parse_known_args(argv)
    if rest:
        command = commands[arguments.command]
        known = [option for action in command._actions for option in action.option_strings]
        name = next((each for each in rest if each.startswith("-")), "").partition("=")[0]
        guess = did_you_mean(name, known) if name else ""
        said = f"there is no option {name}" if name else f"one argument too many: {rest[0]}"
        command.error(f"{said}; {guess}" if guess else said)
    return arguments


def count(text: str) -> int:
    """A number of things: at least one."""
    return int(_at_least(int(text), 1, text))


def count_or_none(text: str) -> int:
    """A number of things, or 0."""
    return int(_at_least(int(text), 0, text))


def seconds(text: str) -> float:
    """A stretch of time."""
    given = float(text)
    if given <= 0 or math.isnan(given):
        raise argparse.ArgumentTypeError(f"{text} is no time: more than 0 seconds are needed")
    return given


def bound(text: str) -> float:
    """Of a difference: a number that is not negative."""
    return _at_least(float(text), 0, text)


def _at_least(given: float, least: int, text: str) -> float:
    if not given >= least:
        raise argparse.ArgumentTypeError(f"{text} is too few: at least {least}")
    return given


@dataclass(frozen=True, slots=True)
class Page:
    """What is said of one command beside its options."""

    purpose: str
    examples: tuple[tuple[str, str], ...]
    """A command line, and what it does."""
    related: tuple[str, ...] = ()

    def epilog(self) -> str:
        width = max(len(line) for line, _ in self.examples)
        lines = ["examples:", *(f"  {line:{width}}  {text}".rstrip() for line, text in self.examples)]
        if self.related:
            lines += ["", f"related: {', '.join(f'triptych {name}' for name in self.related)}"]
        return "\n".join(lines)


OVERVIEW = """first steps:
  triptych doctor                         what is installed here, and does it work?
  triptych run gemm.py --mnk 128,128,64   run a program for the public CuTe DSL
  triptych show kernels.py:saxpy          see what the stages make of a function
  triptych new gemm --template gemm       start a kernel: verify, bench and tune it
  triptych docs kernel hangs              find what the guides say

`triptych COMMAND --help` has examples of every command."""

PAGES: Mapping[str, Page] = {
    "show": Page(
        "Show what each stage makes of a function: Python, MLIR, LLVM IR, assembly.",
        (
            ('triptych show kernels.py:saxpy --args "100, 0.5"', "the beginning of each, side by side"),
            ("triptych show kernels.py:saxpy --stage mlir", "one of them, whole"),
            ("triptych show kernels.py:saxpy --stage all", "everything"),
            ("triptych show kernels.py:gemm --target nvptx:sm_90 --stage resources", "registers, shared memory"),
        ),
        ("check", "profile", "errors"),
    ),
    "errors": Page(
        "Explain an error code, with a program that fails and one that works; or list all codes.",
        (
            ("triptych errors TT0203", "what it means and what to write"),
            ("triptych errors", "all codes"),
            ("triptych errors --json", "for another program; --schema describes it"),
        ),
        ("check", "env"),
    ),
    "docs": Page(
        "Find what the guides of this version say; without words, list them.",
        (("triptych docs kernel hangs", "the section that answers best, and two more"), ("triptych docs", "all pages")),
        ("errors", "examples"),
    ),
    "examples": Page(
        "List the examples of this version, or copy them.",
        (("triptych examples list", "each with what it shows"), ("triptych examples copy softmax", "into this folder")),
        ("docs", "new"),
    ),
    "examples list": Page(
        "List the examples, each with what it shows.", (("triptych examples list", "all of them"),), ("examples copy",)
    ),
    "examples copy": Page(
        "Copy examples into a folder; files that are there stay as they are.",
        (("triptych examples copy softmax gemm --to kernels", "two of them"), ("triptych examples copy", "all")),
        ("examples list", "verify"),
    ),
    "skill": Page(
        "Install a skill for coding assistants: how to write, verify and measure kernels with this version.",
        (("triptych skill install .claude/skills", "into the folder triptych there"),),
        ("docs", "examples"),
    ),
    "skill install": Page(
        "Write the skill into a folder: instructions, references from the guides, two scripts.",
        (("triptych skill install .claude/skills", "an older one there is replaced"),),
        ("docs", "examples copy"),
    ),
    "run": Page(
        "Run a program that is written for the public CuTe DSL, unchanged, without a GPU.",
        (
            ("triptych run gemm.py --mnk 128,128,64", "a script with its own arguments"),
            ("triptych run notebook.ipynb", "the cells of a notebook"),
            ("triptych run --gpus 4 all_reduce.py", "a process for each of four GPUs"),
            ("triptych run --target nvptx:sm_90 --compile-only gemm.py", "registers and spills; runs no kernel"),
        ),
        ("coverage", "check", "import"),
    ),
    "coverage": Page(
        "List the public names that programs use, and which of them are here.",
        (("triptych coverage kernels/", "a folder"), ("triptych coverage gemm.py --json", "for another program")),
        ("run", "import"),
    ),
    "build": Page(
        "Compile all that a manifest lists, so that later processes compile nothing.",
        (
            ("triptych build manifest.py", "for the target that is set"),
            ("triptych build manifest.py --target cpu --target nvptx:sm_90a -j 4", "for two, by four processes"),
        ),
        ("cache", "link-flags"),
    ),
    "check": Page(
        "Run a program under the sanitizer: races, uninitialized reads, out-of-bounds accesses; or count its costs.",
        (
            ("triptych check kernel.py", "a script, or a kernel file"),
            ('triptych check kernels.py:saxpy --args "100, Float32[64, 64]"', "one function"),
            ("triptych check kernel.py --schedules 20", "with blocks and warps in other orders"),
            ("triptych check kernel.py --sarif check.sarif", "findings for a code host or an editor"),
            ("triptych check kernel.py --costs --arch sm_90", "bank conflicts, sectors, instructions by line"),
        ),
        ("verify", "profile", "errors"),
    ),
    "verify": Page(
        "Test whether a kernel file computes what it should, against float64 and with guards.",
        (
            ("triptych verify kernel.py", "all cases, three seeds"),
            ("triptych verify kernel.py --case large --rtol 1e-3 --atol 1e-3", "one case, a bound of your own"),
        ),
        ("check", "bench", "new"),
    ),
    "bench": Page(
        "Measure how fast a kernel file is, or which of two is faster.",
        (
            ("triptych bench kernel.py", "each case, beside the roofs of this machine"),
            ("triptych bench first.py second.py", "A/B: interleaved, with an interval"),
            ("triptych bench kernel.py --sweep n=1024:16384:*2 --plot sizes.svg", "a picture over sizes"),
        ),
        ("verify", "tune", "profile", "devlog"),
    ),
    "tune": Page(
        "Choose among the parameters that a kernel file names, and keep the choice.",
        (
            ("triptych tune kernel.py", "on this machine"),
            ("triptych tune kernel.py --target nvptx:sm_80 --table", "by the assembler's numbers, without a GPU"),
        ),
        ("bench", "devices"),
    ),
    "profile": Page(
        "Show where the time of a kernel file goes: compile stages, blocks by thread, instructions by line.",
        (
            ("triptych profile kernel.py", "a trace and a listing in kernel.profile"),
            ("triptych profile kernel.py --target nvptx:sm_90", "instructions of a GPU that is not here"),
        ),
        ("bench", "check", "show"),
    ),
    "new": Page(
        "Make a folder for a kernel from a template, or for its next version.",
        (
            ("triptych new rotary --template elementwise", "a kernel file that verifies as it is"),
            ("triptych new linear --template gemm", "shared memory and tensor cores"),
            ("triptych new rotary --from rotary", "rotary_v2, a copy to change"),
        ),
        ("verify", "bench", "devlog", "import"),
    ),
    "import": Page(
        "Make a kernel file that runs, a plan and a reading sheet of an example for the public CuTe DSL.",
        (
            ("triptych import tensorop_gemm.py", "reads it, and compiles it for resources"),
            ("triptych import gemm.py --no-resources", "only reads it"),
        ),
        ("run", "coverage", "new"),
    ),
    "devlog": Page(
        "Write down what a version of a kernel brought, with the figures of its records.",
        (("triptych devlog add rotary/rotary_v2 second.json --before first.json", "an entry beside the version"),),
        ("bench", "new"),
    ),
    "devlog add": Page(
        "Append an entry with the figures of a record to the devlog of a version.",
        (("triptych devlog add rotary/rotary_v2 second.json --before first.json", ""),),
        ("bench", "new"),
    ),
    "devices": Page(
        "Print the limits of GPUs, of products and of this host, each with its source.",
        (
            ("triptych devices", "all of them"),
            ("triptych devices h100", "one product: multiprocessors, shared memory, bandwidth"),
            ("triptych devices sm_90 cpu", "an architecture, and this host"),
        ),
        ("doctor", "tune", "env"),
    ),
    "doctor": Page(
        "Say what is installed and what works: one kernel on each target, and where a GPU is, all of them.",
        (
            ("triptych doctor", "a table"),
            ("triptych doctor --report report.json", "and a file to send: which kernels ran on which hardware"),
        ),
        ("devices", "env", "errors"),
    ),
    "puzzles": Page(
        "Copy twenty short files with a hole each, check what you wrote there, or give a hint.",
        (
            ("triptych puzzles", "the files, in the folder puzzles"),
            ("triptych puzzles check 7", "run number 7 under verify and the checkers, and name the mistake"),
            ("triptych puzzles check", "all in turn, up to the first that is not solved"),
            ("triptych puzzles hint 7", "one hint; the next call gives the next one"),
        ),
        ("check", "verify", "layout"),
    ),
    "knowledge": Page(
        "List patterns and anti-patterns with their evidence, write one, or check whether what they say still holds.",
        (
            ("triptych knowledge list", "every page with its kind of evidence"),
            ("triptych knowledge new wide-accesses", "a page and its script from the template"),
            ("triptych knowledge check", "headings, numbers, links, and every counted table"),
        ),
        ("docs", "check", "bench"),
    ),
    "knowledge new": Page(
        "Write a page from the template, and beside it the script of its evidence.",
        (
            ("triptych knowledge new wide-accesses", "in docs/knowledge/optimizations"),
            ("triptych knowledge new lost-phase --kind anti-patterns --language cute-dsl", "of one language"),
        ),
        ("knowledge check",),
    ),
    "knowledge list": Page(
        "List the pages, each with its kind of evidence.",
        (("triptych knowledge list", ""), ("triptych knowledge list --json", "for another program")),
        ("knowledge check", "docs"),
    ),
    "knowledge check": Page(
        "Check pages: headings, words, numbers, links, and whether scripts still count what the tables say.",
        (
            ("triptych knowledge check", "all of them"),
            ("triptych knowledge check wide-accesses --update", "one; tables that differ are written"),
            ("triptych knowledge check --update --measure", "figures of this CPU too"),
        ),
        ("knowledge new", "bench"),
    ),
    "layout": Page(
        "Show a layout as a table, compose or divide it, and count the bank conflicts of an access.",
        (
            ('triptych layout "(8,8):(8,1)"', "where each coordinate lies"),
            ('triptych layout "(8,8):(8,1)" --compose "(2,2)" --svg tile.svg', "a tile of it, as a picture"),
            ('triptych layout "(32,32):(32,1)" --access 32:32@0', "a column: 32 ways of conflict"),
        ),
        ("check",),
    ),
    "cache": Page(
        "List, explain, check and move the programs that are kept for other processes.",
        (
            ("triptych cache ls", "what is kept"),
            ("triptych cache why kernels.py:saxpy", "why one is compiled again"),
            ("triptych cache prune --to 200M", "leave the 200 MB that were used last"),
        ),
        ("build", "env"),
    ),
    "cache ls": Page("List what is kept, the latest used first.", (("triptych cache ls", ""),), ("cache why",)),
    "cache why": Page(
        "Say whether a program is kept, or what has changed since it was.",
        (('triptych cache why kernels.py:saxpy --args "100, 0.5"', ""),),
        ("cache ls",),
    ),
    "cache verify": Page(
        "Read everything that is kept, and discard what is damaged.", (("triptych cache verify", ""),), ("cache prune",)
    ),
    "cache prune": Page(
        "Evict the least recently used entries.", (("triptych cache prune --to 200M", ""),), ("cache ls",)
    ),
    "cache export": Page(
        "Write all that is kept to an archive.", (("triptych cache export kernels.tar", ""),), ("cache import",)
    ),
    "cache import": Page(
        "Take in an archive that `export` wrote; everything in it is checked.",
        (("triptych cache import kernels.tar", ""),),
        ("cache export",),
    ),
    "link-flags": Page(
        "Print what a C or C++ compiler needs to link exported objects.",
        (("triptych link-flags", ""), ("triptych link-flags --tvm-ffi", "for objects with an entry for TVM FFI")),
        ("build",),
    ),
    "env": Page(
        "List every setting, its value and where the value comes from.",
        (("triptych env", ""), ("triptych env --json", "for another program")),
        ("doctor", "cache"),
    ),
}


def add_page(commands: Any, name: str, *parents: argparse.ArgumentParser) -> CommandLine:
    """A command, or an action of one, with its page. `commands` is what `argparse` adds subcommands to."""
    page = PAGES[name]
    made: CommandLine = commands.add_parser(
        name.rpartition(" ")[2],
        parents=list(parents),
        help=page.purpose,
        description=page.purpose,
        epilog=page.epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return made
