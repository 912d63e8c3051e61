"""How window joins are benched."""
