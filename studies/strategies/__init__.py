"""Search strategies over a design space."""
