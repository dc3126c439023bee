"""Tables made again from bronze, rows erased, messages judged again: what may be done, and how."""
