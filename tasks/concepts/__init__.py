"""Concept normalisation: names and mentions are linked to the concepts of a terminology."""
