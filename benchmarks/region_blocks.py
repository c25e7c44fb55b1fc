"""Blocks that one lane runs: every construct in one, in a whole warp and in a part of one, against what lanes owe.

python -m benchmarks.region_blocks
"""

from __future__ import annotations

from collections import Counter

from tests.laws.region_programs import FIRST, PROGRAMS, REFUSED, expected, outcome


def main() -> None:
    counts: Counter[str] = Counter()
    for program in PROGRAMS:
        for where in FIRST:
            wanted, found = expected(program, where), outcome(program, where)
            verdict = "wrong" if found not in (wanted, REFUSED) else "refused" if found == REFUSED else "right"
            counts[verdict] += 1
            if found != wanted:
                print(f"{verdict}: {program.name} in {where}: {found}, expected {wanted}")
    print(f"{len(PROGRAMS)} constructs, {sum(counts.values())} programs: {dict(counts)}")


if __name__ == "__main__":
    main()
