"""What no form can say of the PIM-Tree paper: inserts by subindex, and its notebook's pictures."""
