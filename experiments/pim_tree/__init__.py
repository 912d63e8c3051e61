"""The runs, claims and pictures of "Parallel Index-based Stream Join on a Multicore CPU"."""
