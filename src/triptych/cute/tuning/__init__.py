"""Autotuning: how long compiled functions take, and which parameters are fastest."""
