"""How a query on instances is benched: its streams, the clock, the oracle, work that is counted."""
