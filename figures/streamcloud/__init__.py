"""Pictures of "StreamCloud", for its notebook and the report."""
