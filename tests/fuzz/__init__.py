"""Fuzzing of every reader: mutated files must be read or refused with the toolkit's own errors, quickly and in little memory.

``python -m tests.fuzz --inputs N`` runs a campaign; CAMPAIGN.md records the last long one; test_fuzz.py runs a short one.
"""
