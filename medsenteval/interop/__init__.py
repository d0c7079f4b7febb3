"""Bridges to other toolkits: mteb, sentence-transformers, and the model cards of the Hugging Face hub."""
