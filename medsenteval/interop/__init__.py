"""Bridges to other evaluation toolkits: upstream SentEval and mteb."""
