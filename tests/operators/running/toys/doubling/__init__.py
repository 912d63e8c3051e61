"""An external operator, run by threads: it doubles each input."""
