"""How reorder buffers are run and timed."""
