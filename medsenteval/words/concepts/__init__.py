"""Names of concepts: what ontologies call them, and which name is nearest to a query."""
