"""Texts into one matrix: each distinct text once, kept on disk, token vectors pooled."""
