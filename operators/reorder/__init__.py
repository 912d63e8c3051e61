"""Reorder buffers: outputs of concurrent workers, sent downstream by serial number."""
