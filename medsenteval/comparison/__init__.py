"""Stored results into answers: which encoder is better, by how much, beside which published numbers."""
