"""The paper "Parallel Index-based Stream Join on a Multicore CPU"."""
