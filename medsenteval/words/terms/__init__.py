"""Challenge sets of similar and dissimilar medical terms, built from terminologies, and what is measured on them.

Schulz and Juric 2020, Can Embeddings Adequately Represent Medical Terminology? (AAAI 2020). Built from SNOMED CT, from any
ontology in OBO format, or from UMLS; encoders are scored on them by ``medsenteval.running.term_evaluation``.
"""
