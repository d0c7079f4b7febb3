"""Tasks: one adapter per data set.

An adapter says which files and labels, ``classification`` and ``similarity`` what is done with them.
"""
