"""The literature's numbers as CSV files, and what becomes of them beside ours."""
