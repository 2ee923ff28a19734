"""Traces received over HTTP, and the file that they are kept in."""
