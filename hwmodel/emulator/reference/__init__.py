"""The emulator once more, in plain Python: written from docs/emulator.md alone.

The engine is tested against it. It shares with the engine the constants, the result and the walk,
nothing else.
"""

from hwmodel.emulator.reference.kernel import emulate_reference

__all__ = ["emulate_reference"]
