"""Small programs for `millrace check`, and faults that it must find."""

# A schedule of a join has hundreds of steps. More random schedules and fewer of explorations take
# half the time in the tests (29 s, not 60), pass the same marks and kill the same mutants.
# They are shared by all programs, also by those of tables, which take two each.
SHARE = {"random": 400, "schedules": 20}
# A schedule of a join has hundreds of steps, and most of the time went to random ones.
PLAIN = {"random": 1_500}
