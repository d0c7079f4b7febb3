"""Deliberate errors, one at a time, to see whether the tests notice them; no part of the test command."""
