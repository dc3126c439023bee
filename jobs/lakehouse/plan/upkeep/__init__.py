"""What maintenance keeps of a table, and which tables it compacts."""
