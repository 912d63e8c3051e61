"""Generated comments on songs: `tables` declares them, `generate` makes the rows."""
