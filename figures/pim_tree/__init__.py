"""What no form can say of the PIM-Tree paper: the pictures of its notebook."""
