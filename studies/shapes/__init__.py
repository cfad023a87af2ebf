"""The bundled shape lists and their generator: `python -m studies.shapes.generate`."""
