"""Word-level tasks: similarity of words and terms, biomedical and general."""
