"""Sanitizer, the part that every target shares: which checks there are, what a finding is, and how it reads."""
