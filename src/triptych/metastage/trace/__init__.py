"""Trace in progress: regions, source locations, what it has read and done, and its errors."""
