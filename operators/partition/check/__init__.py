"""Programs of ``millrace check`` for partitioned worklists, and the faults that it must find."""
