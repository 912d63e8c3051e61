"""Small plans for ``millrace check``, and faults of mergers, balancers, channels to be found."""

# A schedule of a plan has hundreds of steps. So few take 5 s in the tests and kill all mutants;
# the sizes of others' programs would take more than a minute.
SHARE = {"random": 60, "schedules": 4}
