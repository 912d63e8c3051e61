"""Indexes of sliding windows: keys with the sequence numbers of their tuples, searched by range."""
