"""How worklists of partitioned operators are run and timed."""
