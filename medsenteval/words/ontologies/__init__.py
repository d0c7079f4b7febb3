"""Terminologies in their official formats: OBO, SNOMED CT RF2, UMLS."""
