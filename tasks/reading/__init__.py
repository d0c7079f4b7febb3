"""How rows of official files become a Dataset: the builder, and layouts that several data sets share."""
