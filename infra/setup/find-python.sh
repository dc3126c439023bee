#!/bin/sh
# Prints the first Python that the project runs on (3.11, 3.12 or 3.13).
# A name on PATH is not enough: a version manager's stand-in may refuse to run.
for name in python3.13 python3.12 python3.11 python3; do
  if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
    command -v "$name"
    exit 0
  fi
done
echo "No Python 3.11, 3.12 or 3.13 found: looked for python3.13, python3.12, python3.11 and" \
  "python3 on PATH; install one (Debian and Ubuntu, as root: apt-get install python3 python3-venv)," \
  "or name one with make PYTHON=/path/to/python3.12" >&2
exit 1
