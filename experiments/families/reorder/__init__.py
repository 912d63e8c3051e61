"""Running and timing of reorder buffers."""
