"""Gates: many timestamp-sorted sources in, one ready, totally ordered sequence out (S-Merge)."""
