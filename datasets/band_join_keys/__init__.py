"""Integer keys of two streams, the input of the band joins in the PIM-Tree paper."""
