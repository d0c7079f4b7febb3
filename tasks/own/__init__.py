"""Tasks made from a user's own file or table: which column is what, what kind of task it makes, and how it is read."""
