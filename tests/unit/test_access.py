"""The table of access."""

import pytest

from memorist.errors import UsageError
from memorist.protocol.access import access_of


def test_a_missing_row_says_where_to_add_it() -> None:
    with pytest.raises(UsageError, match=r"facts\.polish .*memorist/protocol/access\.py"):
        access_of("facts.polish")
