"""Running and timing of worklists of partitioned operators."""
