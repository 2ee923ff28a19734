"""Damaged input for everything in raglift that reads: a harness, and the readers that it is turned on."""
