"""Tables made again from bronze, whole or in part, in the place of those that run."""
