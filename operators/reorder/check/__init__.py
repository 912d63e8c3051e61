"""What ``millrace check`` runs on reorder buffers, and the faults that it has to see."""
