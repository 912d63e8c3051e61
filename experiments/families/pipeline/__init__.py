"""Running and timing of pipelines: the bench, the inputs of queries, the loop of a worker."""
