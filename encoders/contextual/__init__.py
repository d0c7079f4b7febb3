"""Neural encoders that read a word in its sentence: transformers, ELMo, Flair, InferSent, USE."""
