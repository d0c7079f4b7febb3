"""The report's figures: each is a function from scores to a Drawing, which becomes SVG, PNG or PDF."""
