"""Call description records and suspicious numbers, the streams of the paper of StreamCloud."""
