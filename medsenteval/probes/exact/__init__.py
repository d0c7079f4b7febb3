"""Logistic regression at its optimum, for all folds and penalties at once; docs/solver.md derives it."""
