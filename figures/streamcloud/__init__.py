"""Pictures of the notebook on "StreamCloud"."""
