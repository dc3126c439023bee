"""Set-up of a machine: Python environment, Java, jars and database binaries.

Everything here runs before the environment exists: Python 3.11, standard library only.
"""
