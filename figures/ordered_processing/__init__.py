"""What no form can say of the ordered processing paper: the pictures of its notebook."""
