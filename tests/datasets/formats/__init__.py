"""Tests of the formats that labels are read from and written in."""
