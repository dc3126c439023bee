"""What the project brings along from others: a bill of it, its licences and known weaknesses."""
