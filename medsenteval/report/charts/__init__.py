"""The report's figures: each is a function from scores to a Drawing of a width, for screens without one; SVG, PNG or PDF."""
