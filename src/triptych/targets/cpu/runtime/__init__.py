"""What compiled code needs while it runs: the thread pool, the operating system, wide and narrow arithmetic."""
