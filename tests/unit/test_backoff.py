"""The wait before another try."""

from memorist.backoff import pause


def test_a_pause_grows_to_its_limit_and_differs_each_time() -> None:
    for tries in range(1, 30):
        top = min(0.01 * 2 ** (tries - 1), 1.0)
        waits = [pause(tries, first=0.01, longest=1.0) for _ in range(50)]
        assert all(top / 2 <= wait <= top for wait in waits)
        assert len(set(waits)) > 40, "contenders would meet again"


def test_many_tries_are_no_overflow() -> None:
    assert 0.5 <= pause(10**6, first=0.01, longest=1.0) <= 1.0
