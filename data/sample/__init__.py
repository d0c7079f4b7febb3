"""Synthetic sample data in every official format, shipped as ``medsenteval.sample``."""
