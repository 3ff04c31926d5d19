"""What was shown is kept in order and within its budget; what is left out is counted, and spooled if it is text."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plughost.contracts.sideband.items import Image, Notice, Omitted, Prompt, Stream, Text
from plughost.contracts.sideband.timeline import ENTRY_COST, LARGE, SMALL, Budget, Timeline

requirement = pytest.mark.requirement

OUT, ERR = Stream.STDOUT, Stream.STDERR
SMALL_BUDGET = Budget(head_chars=200, tail_chars=200, images=3, image_bytes=100)


def picture(id="p", data=b"x", is_new=True):
    return Image(id, "image/png", data, is_new, 1)


def texts(items):
    return "".join(item.text for item in items if isinstance(item, Text))


@requirement("sideband:output:order")
def test_everything_is_kept_in_the_order_in_which_it_came():
    timeline = Timeline(Budget())
    timeline.add_text(OUT, "a", 1)
    timeline.add_text(OUT, "b", 1)
    timeline.add_text(ERR, "c", 1)
    timeline.add_image(picture())
    timeline.add_text(OUT, "d", 1)
    timeline.add_text(OUT, "e", None)
    timeline.add_prompt("? ", 1)
    timeline.add_notice("it was interrupted", 1)
    timeline.add_text(OUT, "", 1)
    assert timeline.take() == (
        Text(OUT, "ab", 1),
        Text(ERR, "c", 1),
        picture(),
        Text(OUT, "d", 1),
        Text(OUT, "e", None),
        Prompt("? ", 1),
        Notice("it was interrupted", 1),
    )
    assert not timeline
    assert timeline.take() == ()


@requirement("sideband:output:bounded")
@pytest.mark.parametrize("over", [-1, 0, 1, 1000])
def test_the_head_and_the_tail_are_kept_and_the_rest_is_counted(over):
    timeline = Timeline(SMALL_BUDGET)
    fits = 200 - ENTRY_COST
    text = "".join(chr(97 + at % 26) for at in range(2 * fits + over))
    timeline.add_text(OUT, text, 1)
    items = timeline.take()
    if over <= 0:
        assert texts(items) == text
        assert not any(isinstance(item, Omitted) for item in items)
    else:
        assert items == (
            Text(OUT, text[:fits], 1),
            Omitted(over, 0, 0, 0, spooled=False),
            Text(OUT, text[-fits:], 1),
        )


def test_text_is_cut_between_two_lines_and_lines_that_are_left_out_are_counted():
    timeline = Timeline(Budget(head_chars=200, tail_chars=200))
    whole = "".join(f"line {number}\n" for number in range(1000))
    timeline.add_text(OUT, whole, 1)
    head, omitted, tail = timeline.take()
    assert head.text.endswith("\n")
    assert tail.text.startswith("line ")
    assert len(head.text) + omitted.chars + len(tail.text) == len(whole)
    assert head.text.count("\n") + omitted.lines + tail.text.count("\n") == 1000


@requirement("sideband:output:spool")
@given(st.lists(st.tuples(st.sampled_from([OUT, ERR]), st.text(min_size=1, max_size=150)), max_size=30))
def test_the_spool_has_the_whole_from_the_moment_something_is_left_out(pieces):
    pieces = [(stream, text.encode(errors="replace").decode()) for stream, text in pieces]
    spooled = []
    timeline = Timeline(SMALL_BUDGET, spooled.append)
    for stream, text in pieces:
        timeline.add_text(stream, text, 1)
    items = timeline.take()
    whole = "".join(text for _, text in pieces)
    omitted = [item for item in items if isinstance(item, Omitted)]
    assert b"".join(spooled) in (b"", whole.encode())
    assert len(texts(items)) + sum(item.chars for item in omitted) == len(whole)
    if omitted:
        assert b"".join(spooled) == whole.encode()
        assert omitted[0].spooled
        at = items.index(omitted[0])
        assert whole.startswith(texts(items[:at]))
        assert whole.endswith(texts(items[at:]))
    else:
        assert texts(items) == whole


@given(st.lists(st.text("ab", min_size=1, max_size=150), max_size=30))
def test_without_a_spool_what_is_kept_and_what_is_counted_is_the_whole(pieces):
    timeline = Timeline(SMALL_BUDGET)
    for text in pieces:
        timeline.add_text(OUT, text, 1)
    items = timeline.take()
    omitted = sum(item.chars for item in items if isinstance(item, Omitted))
    assert len(texts(items)) + omitted == len("".join(pieces))
    assert not any(isinstance(item, Omitted) and item.spooled for item in items)


@requirement("sideband:output:spool")
def test_what_fits_is_never_spooled_and_once_it_does_not_everything_is_until_something_new_begins():
    spooled = []
    timeline = Timeline(SMALL_BUDGET, spooled.append)
    timeline.add_text(OUT, "x" * 100, 1)
    timeline.take()
    assert spooled == []
    timeline.add_text(OUT, "y" * 1000, 1)
    timeline.end_spool()  # what was spooled is not taken yet: it still belongs to it
    timeline.add_text(OUT, "z", 1)
    assert b"".join(spooled) == b"y" * 1000 + b"z"
    timeline.take()
    timeline.add_text(OUT, "more", 1)  # a poll later, of the same request
    assert b"".join(spooled) == b"y" * 1000 + b"zmore"
    assert timeline.spooled == 1005
    timeline.take()
    timeline.end_spool()
    timeline.add_text(OUT, "another", 2)
    assert b"".join(spooled) == b"y" * 1000 + b"zmore"
    assert timeline.spooled == 0


@requirement("sideband:output:bounded")
def test_a_flood_leaves_no_more_than_the_budget_behind():
    given_away = 0

    def spool(data):
        nonlocal given_away
        given_away += len(data)

    timeline = Timeline(Budget(), spool)
    chunk = "0123456789abcde\n" * 1_048_576  # 16 MiB
    for _ in range(8):
        timeline.add_text(OUT, chunk, 1)
        assert timeline.kept <= 2**21
    head, omitted, tail = timeline.take()
    assert given_away == 2**27
    assert len(head.text) + len(tail.text) + omitted.chars == 2**27
    assert len(tail.text) == 1_048_576 - ENTRY_COST
    assert omitted.spooled


@requirement("sideband:output:bounded")
def test_many_small_entries_are_no_way_around_the_budget():
    timeline = Timeline(Budget(head_chars=10_000, tail_chars=10_000))
    for at in range(20_000):
        timeline.add_text(OUT if at % 2 else ERR, "x", 1)
    items = timeline.take()
    assert len(items) <= 2 * 10_000 // ENTRY_COST + 1
    assert len(texts(items)) + sum(item.chars for item in items if isinstance(item, Omitted)) == 20_000


def test_a_flood_of_single_characters_costs_little_more_than_its_characters():
    timeline = Timeline(Budget())
    tracemalloc.start()
    for _ in range(5 * SMALL):
        timeline.add_text(OUT, "x", 1)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 2 * 5 * SMALL
    timeline.add_text(OUT, "y" * 3 * LARGE, 1)
    assert texts(timeline.take()) == "x" * 5 * SMALL + "y" * 3 * LARGE


def test_single_characters_behind_a_full_tail_push_out_no_more_than_themselves():
    timeline = Timeline(Budget(head_chars=0, tail_chars=10 * LARGE))
    timeline.add_text(OUT, "y" * 10 * LARGE, 1)
    for _ in range(2_000):
        timeline.add_text(OUT, "x", 1)
    omitted, tail = timeline.take()
    assert tail.text.endswith("y" + "x" * 2_000)
    assert len(tail.text) == 10 * LARGE - ENTRY_COST
    assert omitted.chars == 2_000 + ENTRY_COST


def test_prompts_and_notices_that_are_left_out_are_counted():
    timeline = Timeline(SMALL_BUDGET)
    for at in range(100):
        timeline.add_prompt(f"prompt {at}", 1)
        timeline.add_notice(f"notice {at}", 1)
    items = timeline.take()
    (omitted,) = [item for item in items if isinstance(item, Omitted)]
    assert omitted.entries == 200 - (len(items) - 1)
    assert (items[0], items[-1]) == (Prompt("prompt 0", 1), Notice("notice 99", 1))


@pytest.mark.parametrize("budget", [Budget(0, 0, 0, 0), Budget(0, 100, 1, 10), Budget(100, 0, 1, 10)])
def test_a_budget_of_nothing_keeps_nothing_and_counts_all(budget):
    spooled = []
    timeline = Timeline(budget, spooled.append)
    for at in range(20):
        timeline.add_text(OUT, "x" * 50, at)
        timeline.add_prompt("?", at)
        timeline.add_image(picture(f"{at}", b"12345678901"))
    items = timeline.take()
    (omitted,) = [item for item in items if isinstance(item, Omitted)]
    assert len(texts(items)) + omitted.chars == 1000
    assert (omitted.images, omitted.image_bytes) == (20, 220)
    assert sum(isinstance(item, Prompt) for item in items) + omitted.entries == 20
    assert b"".join(spooled) == b"x" * 1000


@requirement("sideband:image:latest")
def test_only_the_last_version_of_a_picture_is_kept_at_its_own_place():
    timeline = Timeline(Budget())
    timeline.add_image(picture("a", b"1"))
    timeline.add_text(OUT, "between", 1)
    timeline.add_image(picture("a", b"2", is_new=False))
    timeline.add_image(picture("b", b"3"))
    timeline.add_image(picture("a", b"4", is_new=False))
    timeline.add_image(picture("a", b"5"))
    assert [getattr(item, "data", item) for item in timeline.take()] == [
        Text(OUT, "between", 1),
        b"3",
        b"4",
        b"5",
    ]


@requirement("sideband:image:latest")
def test_a_picture_that_was_taken_is_not_replaced_any_more():
    timeline = Timeline(Budget())
    timeline.add_image(picture("a", b"1"))
    timeline.take()
    timeline.add_image(picture("a", b"2", is_new=False))
    assert timeline.take() == (picture("a", b"2", is_new=False),)


@requirement("sideband:image:bounded")
@pytest.mark.parametrize(
    ("sizes", "kept", "omitted"),
    [
        ([1, 2, 3], [1, 2, 3], (0, 0)),
        ([1, 2, 3, 4], [2, 3, 4], (1, 1)),
        ([100], [100], (0, 0)),
        ([101], [], (1, 101)),
        ([1, 101], [1], (1, 101)),
        ([60, 40], [60, 40], (0, 0)),
        ([60, 41], [41], (1, 60)),
        ([1, 1, 99], [1, 99], (1, 1)),
        ([1, 1, 100], [100], (2, 2)),
    ],
)
def test_pictures_are_bounded_in_number_and_size_and_the_oldest_go_first(sizes, kept, omitted):
    timeline = Timeline(SMALL_BUDGET)
    for at, size in enumerate(sizes):
        timeline.add_image(picture(f"{at}", b"x" * size))
    assert timeline
    items = timeline.take()
    assert [len(item.data) for item in items if isinstance(item, Image)] == kept
    counted = [(item.images, item.image_bytes) for item in items if isinstance(item, Omitted)]
    assert counted == ([omitted] if omitted[0] else [])


@requirement("sideband:image:bounded")
def test_pictures_outlive_the_text_around_them_and_a_flood_of_them_is_bounded():
    timeline = Timeline(SMALL_BUDGET)
    tracemalloc.start()
    for at in range(1000):
        timeline.add_image(picture(f"{at}", b"%d" % at))
        timeline.add_text(OUT, "x" * 500, 1)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 32_768  # a place for each would be far more
    items = timeline.take()
    assert [item.data for item in items if isinstance(item, Image)] == [b"997", b"998", b"999"]
    assert [item.images for item in items if isinstance(item, Omitted)] == [997]


def test_a_picture_that_changes_a_thousand_times_is_one():
    timeline = Timeline(SMALL_BUDGET)
    for at in range(1000):
        timeline.add_image(picture("a", b"%d" % at, is_new=at == 0))
    items = timeline.take()
    assert [item.data for item in items if isinstance(item, Image)] == [b"999"]
    assert not any(isinstance(item, Omitted) and item.images for item in items)
