"""Small programs for ``millrace check``, and faults that it must find."""
