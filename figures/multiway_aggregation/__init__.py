"""What no form can say of the multiway aggregation paper: its pictures, a form, a section."""
