"""Pictures of "StreamCloud", for the notebook and the report."""
