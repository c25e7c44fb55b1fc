"""What a kernel's values look like over the threads that run it: shared by all targets."""
