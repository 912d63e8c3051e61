"""A stranger's operator, run by threads: it doubles what comes in."""
