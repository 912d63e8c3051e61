"""Small plans for ``millrace check``, and mutants of mergers, balancers and channels."""

# A schedule of a plan has hundreds of steps. So few take 12 s of a core in the tests and kill all
# mutants; the sizes for other programs would take more than a minute.
SHARE = {"random": 60, "schedules": 4}
# Half of the time of a plain check went to random schedules, of hundreds of steps each.
PLAIN = {"random": 1_500}
