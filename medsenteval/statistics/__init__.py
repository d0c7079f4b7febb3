"""The statistics that every comparison in the toolkit rests on."""

from medsenteval.statistics.intervals import bootstrap_correlation, bootstrap_counts, correlation, f1_from_counts

__all__ = ["bootstrap_correlation", "bootstrap_counts", "correlation", "f1_from_counts"]
