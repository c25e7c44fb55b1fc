"""`python -m kernelshop`: the kernel beside the same in Python."""

import sys

import numpy as np

from kernelshop import clamped, helpers


def expected(x):
    result = []
    for t, value in enumerate(x):
        if t < helpers.LIMIT:
            value = helpers.clamp(value, np.float32(-1), np.float32(1))
        if 4 <= t < 12:
            value = (value + value if value > 0.5 else value) + sum(range(1, 9))
        result.append(value)
    return np.array(result, np.float32)


def main():
    start = np.arange(-16, 16, dtype=np.float32) / 4
    for limit in (*map(int, sys.argv[1:]), helpers.LIMIT):
        helpers.LIMIT = limit
        x = start.copy()
        clamped(x)
        assert np.array_equal(x, expected(start)), (limit, x, expected(start))
    print(f"right: {x[0]}")


if __name__ == "__main__":
    main()
