"""Copies of files: the same bytes, the same holes, by whichever way the system offers."""

import errno
import os

import pytest

from plughost.files import copying
from plughost.files.copying import PIECE, Copier, blocks, digest, same, segments

SIZES = [0, 1, 65_535, 65_536, 65_537, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE]
GIB = 1 << 30


@pytest.fixture
def open_file(tmp_path):
    opened = []

    def make(name, data=b"", size=0):
        opened.append(os.open(tmp_path / name, os.O_RDWR | os.O_CREAT))
        os.write(opened[-1], data)
        if size:
            os.ftruncate(opened[-1], size)
        return opened[-1]

    yield make
    for fd in opened:
        os.close(fd)


def refuse(code):
    def call(*_arguments):
        raise OSError(code, os.strerror(code))

    return call


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("way", ["best", "by the kernel", "by hand"])
def test_a_copy_holds_the_same_bytes_by_any_way(open_file, monkeypatch, size, way):
    if way != "best":
        monkeypatch.setattr(copying.fcntl, "ioctl", refuse(errno.EOPNOTSUPP))
    if way == "by hand" and hasattr(os, "copy_file_range"):
        monkeypatch.setattr(os, "copy_file_range", refuse(errno.EXDEV))
    data = os.urandom(size)
    source, target = open_file("source", data), open_file("target", b"something longer before" * 10)
    Copier().copy(source, target)
    assert os.pread(target, size + 100, 0) == data
    assert same(source, target)


def test_a_full_disk_is_not_taken_for_a_missing_way(open_file, monkeypatch):
    monkeypatch.setattr(copying.fcntl, "ioctl", refuse(errno.ENOSPC))
    with pytest.raises(OSError) as caught:
        Copier().copy(open_file("source", b"x"), open_file("target"))
    assert caught.value.errno == errno.ENOSPC


def test_a_way_that_the_filesystem_does_not_offer_is_tried_once(open_file, monkeypatch):
    tried = []

    def ioctl(*arguments):
        tried.append(arguments)
        raise OSError(errno.EOPNOTSUPP, "")

    monkeypatch.setattr(copying.fcntl, "ioctl", ioctl)
    copier = Copier()
    for number in range(3):
        copier.copy(open_file(f"source{number}", b"x"), open_file(f"target{number}"))
    assert len(tried) <= 1


def test_an_enormous_hole_costs_nothing_and_stays_one(open_file):
    source, target = open_file("source", b"head", GIB), open_file("target")
    os.pwrite(source, b"tail", GIB - 4)
    Copier().copy(source, target)
    assert os.fstat(target).st_size == GIB
    assert os.fstat(target).st_blocks * 512 < PIECE
    assert same(source, target)
    assert digest(source) == digest(target)


def test_a_hole_and_the_zeros_it_reads_as_are_the_same(open_file):
    hole, zeros = open_file("hole", b"", 3 * PIECE + 5), open_file("zeros", bytes(3 * PIECE + 5))
    assert list(blocks(hole)) == list(blocks(zeros)) == []
    assert same(hole, zeros)
    assert digest(hole) == digest(zeros)


@pytest.mark.parametrize("at", [0, 1, PIECE - 1, PIECE, 2 * PIECE + 7, 3 * PIECE - 1])
def test_one_other_byte_anywhere_is_noticed(open_file, at):
    one, other = open_file("one", os.urandom(16), 3 * PIECE), open_file("other")
    Copier().copy(one, other)
    os.pwrite(other, bytes([os.pread(other, 1, at)[0] ^ 1]), at)
    assert not same(one, other)
    assert digest(one) != digest(other)


def test_zeros_of_another_length_are_not_the_same(open_file):
    one, other = open_file("one", b"", PIECE), open_file("other", b"", PIECE + 1)
    assert not same(one, other)
    assert digest(one) != digest(other)


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="this system does not tell where holes are")
def test_where_holes_cannot_be_found_everything_counts_as_data(open_file, monkeypatch):
    fd = open_file("file", b"x", PIECE)
    monkeypatch.setattr(os, "lseek", refuse(errno.EINVAL))
    assert list(segments(fd)) == [(0, PIECE)]
