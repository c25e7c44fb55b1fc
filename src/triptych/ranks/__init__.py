"""Ranks: processes that stand for the GPUs of one machine, and the memory that all of them reach.

Input: how many ranks a group has, and the folder that they share. Output: the memory of every rank at the same address
in each of them, addresses that stand for one place on all GPUs, and what ranks tell each other of themselves. Only the
standard library is needed; compiled code finds other ranks' memory by the numbers in `addresses`.
"""
