"""Integer keys of two streams, over which the paper of the PIM-Tree runs its band joins."""
