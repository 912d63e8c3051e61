"""The runs, claims and pictures of the paper "StreamCloud"."""
