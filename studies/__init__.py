"""Shapes, design spaces, search strategies and what a study says about a shape."""
