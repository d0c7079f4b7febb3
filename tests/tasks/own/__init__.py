"""Tasks made from a user's own data."""
