"""Objects chosen at run time, in the large: each program is as in CPython, or refused at the user's line.

    python -m benchmarks.chosen_objects --programs 3000 --seed 1

Run from the root of the repository.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.differential.test_chosen_programs import drawn, judged


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shown", type=int, default=20, help="how many failures are printed")
    arguments = parser.parse_args()
    verdicts: Counter[str] = Counter()
    for chosen in drawn(arguments.programs, arguments.seed):
        verdict, said = judged(chosen)
        verdicts[verdict] += 1
        if verdict not in ("right", "refused"):
            arguments.shown -= 1
            if arguments.shown >= 0:
                print(f"{verdict}: {said}\n{chosen}", flush=True)
    print(f"{arguments.programs} programs: " + ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items()))
    return 0 if set(verdicts) <= {"right", "refused"} else 1


if __name__ == "__main__":
    sys.exit(main())
