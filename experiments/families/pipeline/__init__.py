"""How pipelines are run and timed: the bench, what the queries read, the loop of a worker."""
