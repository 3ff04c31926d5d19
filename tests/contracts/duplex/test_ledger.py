"""Calls are over once, and the earliest deadline is that of a call that is not."""

from plughost.contracts.duplex.ledger import SPARE, Ledger


def opened(*deadlines):
    ledger = Ledger()
    for until in deadlines:
        ledger.open(ledger.new_id(), "m", until)
    return ledger


def test_ids_count_up_from_one_and_are_known_ever_after():
    ledger = opened(None, None)
    assert ledger.calls() == [1, 2]
    ledger.close(1)
    assert [number for number in range(5) if ledger.gave_out(number)] == [1, 2]
    assert ledger.new_id() == 3


def test_the_earliest_deadline_is_found_whatever_the_order_of_calls():
    assert opened(3.0, 1.0, None, 2.0).next_due() == (1.0, 2)
    assert opened(None).next_due() is None


def test_the_deadline_of_a_call_that_is_over_is_gone():
    ledger = opened(3.0, 1.0)
    assert ledger.close(2) == "m"
    assert 2 not in ledger
    assert ledger.next_due() == (3.0, 1)
    ledger.close(1)
    assert ledger.next_due() is None
    assert len(ledger) == 0


def test_a_call_that_stays_open_keeps_no_deadlines_of_calls_that_came_and_went():
    ledger = opened(1.0)
    for _ in range(10_000):
        ledger.open(call_id := ledger.new_id(), "m", 2.0)
        ledger.close(call_id)
    last = ledger.new_id()
    ledger.open(last, "m", 1.5)
    assert len(ledger._deadlines) <= SPARE + 2 * len(ledger)
    assert ledger.next_due() == (1.0, 1)
    ledger.close(1)
    assert ledger.next_due() == (1.5, last)
