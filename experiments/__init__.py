"""What is run, how it is measured, and what the papers say it should show."""
