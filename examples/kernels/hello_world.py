"""Hello, world: a function on the host launches a kernel, and many threads run the same lines.

`print` runs in Python, once, while the functions are traced. `cute.printf` is compiled in: it prints whenever the code
runs, on the host once, in a kernel once for each thread that comes there.
"""

from __future__ import annotations

import triptych as tt
from triptych import cute


@tt.kernel
def hello() -> None:
    """What one thread does. It differs from the others only by its indices."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    print("tracing the kernel: the thread is", thread)
    if thread % 2 == 0:
        cute.printf("hello from block %d, thread %d\n", block, thread)


@tt.jit
def hello_world() -> None:
    """What the host does: print, then start 1 block of 6 threads and wait for them."""
    print("tracing the host function")
    cute.printf("hello from the host\n")
    hello().launch(grid=1, block=6)


if __name__ == "__main__":
    print("the first call traces, compiles and runs:")
    hello_world()
    print("the second call runs:")
    hello_world()
