"""Thread blocks on the CPU: barrier regions, coroutines where they are needed, and deadlocks."""
