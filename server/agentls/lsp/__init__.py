"""The Language Server Protocol face; the only package that knows pygls."""
