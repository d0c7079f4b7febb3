"""What word-level tasks compute: terms, analogies, tagging, and the ontologies that they are made from."""
