"""The parts of the report page, each from results to what is shown."""
