"""Programs of ``millrace check`` for reorder buffers, and the faults that it must find."""
