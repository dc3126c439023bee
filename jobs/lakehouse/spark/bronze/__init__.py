"""Bronze as a table: how it is made, how far it goes, and what is read of it."""
