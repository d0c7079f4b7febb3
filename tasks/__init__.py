"""Tasks: one adapter per data set; an adapter says which files and labels, ``families`` what is done with them."""
