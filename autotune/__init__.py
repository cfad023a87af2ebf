"""The program: command line, runs and reports."""
