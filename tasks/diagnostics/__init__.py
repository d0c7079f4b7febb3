"""Diagnostics: small tests that explain a score, each of one thing that an encoder may or may not see in a sentence."""
