"""Encoders without context: word vectors and their file formats, fastText, model2vec."""
