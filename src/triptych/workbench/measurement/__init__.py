"""Benchmarking: samples with their interval, two candidates in turns, cold and hot, rooflines, and records."""
