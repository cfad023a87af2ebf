"""The kernel emulator: every load, multiplication and store of a plan, in time order."""
