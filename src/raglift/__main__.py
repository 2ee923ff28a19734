"""`python -m raglift`."""

from raglift.cli import main

main()
