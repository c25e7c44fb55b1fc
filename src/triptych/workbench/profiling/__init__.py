"""Profiles: where the time of a kernel file goes, and which instructions its lines became."""
