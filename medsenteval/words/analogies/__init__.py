"""Analogies over many candidates: scores, exact ranks without sorting, metrics; pure array code that knows no data set."""
