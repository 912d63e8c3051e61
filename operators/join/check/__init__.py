"""Small programs for `millrace check`, and faults that it must find."""

# A schedule of a join has hundreds of steps. More random schedules and fewer of explorations take
# half the time in the tests (29 s, not 60), pass the same marks and kill the same mutants.
SHARE = {"random": 300, "schedules": 20}
