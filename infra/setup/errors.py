"""The errors of the set-up; they exist before the project's own packages can be imported."""


class SetupError(Exception):
    """A step of the set-up failed, or something it installs is missing.

    The message says what failed, what was expected and what to do next.
    """

    exit_code = 1
