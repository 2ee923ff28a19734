"""What a pytest test expects of a retrieval system: read from its mark, looked at, and told when it is not so.

`raglift.pytest_plugin` hands over to this room once a test uses it.
"""

from raglift.expectations.evaluating import Evaluate
from raglift.expectations.expectation import Expectation

__all__ = ["Evaluate", "Expectation"]
