"""The checks of the aggregates: scenarios for any of them, one file a structure, and mutants."""

# There are more aggregates than structures of any other family, and they share its time: two
# minutes of two cores. What costs most are graphs of the programs that a table of dimensions gives,
# and the schedules of four threads that make a call each.
PLAIN = {"states": 2_000, "all_states": 8_000, "steps": 30_000}
