"""How the synthetic sample data is written: vocabulary, templates, official layouts, one fixed seed."""
