"""Small programs for ``millrace check``, and faults that it must find."""

# Random schedules are shared among the programs, also among those that a table gives, which have
# one thread and so one schedule: with twice as many, the others keep theirs.
SHARE = {"random": 400}
