"""Generated readings of electricity meters: `tables` declares them, `generate` makes the rows."""
