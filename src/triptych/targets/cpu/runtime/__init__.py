"""Runtime of compiled code on the CPU: the thread pool, the operating system, wide and narrow arithmetic."""
