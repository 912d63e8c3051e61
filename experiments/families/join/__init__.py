"""How window joins are benched and replayed."""
