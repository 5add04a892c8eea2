"""The assembly of tq_codebook against plain steps, instruction by instruction."""

from __future__ import annotations

import random

import pytest

np = pytest.importorskip("numpy", reason="comes with torch")
torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.kernels.tq_codebook import device
from genesisd.kernels.tq_codebook.codebook import gaussian, tables_of
from tests.kernels import ptx

SHIFTS = [0, 8, 16, 24]


def float16_of(word):
    """The number in the lower half."""
    return float(np.array([word & 0xFFFF], np.uint16).view(np.float16)[0])


@pytest.mark.parametrize(("bits", "kernel"), [(3, device.entries3), (4, device.entries4)])
@pytest.mark.parametrize("shift", SHIFTS)
def test_entries_are_looked_up_with_their_signs_and_squares(bits, kernel, shift):
    """Eight entries in the order of the keys, whatever lies beside their bits, and the sums of their squares."""
    program, book = ptx.program_of(kernel), gaussian(128, bits)
    words = [int(word) for word in tables_of(book).view(torch.int32).to(torch.int64) & ptx.WORD]
    book = (book / book.max()).tolist()
    for _ in range(12):
        low, high = random.getrandbits(32), random.getrandbits(32)
        found = [float16_of(word) for word in ptx.run(program, 10, [low, high, shift, *words])]
        whole = (low | high << 32) >> shift
        wanted = [book[whole >> bits * i & (2**bits - 1)] for i in range(8)]
        assert found[:8] == pytest.approx(wanted, rel=6e-4)
        assert found[8] == pytest.approx(sum(entry**2 for entry in wanted[::2]), rel=3e-3)
        assert found[9] == pytest.approx(sum(entry**2 for entry in wanted[1::2]), rel=3e-3)


@pytest.mark.parametrize("index", range(16))
def test_every_entry_of_four_bits_is_found_in_every_place(index):
    """A word of the same index eight times."""
    book = gaussian(64, 4)
    words = [int(word) for word in tables_of(book).view(torch.int32).to(torch.int64) & ptx.WORD]
    found = ptx.run(ptx.program_of(device.entries4), 10, [index * 0x11111111, 0, 0, *words])
    assert [float16_of(word) for word in found[:8]] == pytest.approx([float(book[index] / book[-1])] * 8, rel=6e-4)


@pytest.mark.parametrize("shift", [0, 16])
def test_values_come_centred_in_the_order_that_the_merge_undoes(shift):
    """A nibble less eight is exact."""
    program = ptx.program_of(device.nibbles)
    for _ in range(12):
        low, high = random.getrandbits(32), random.getrandbits(32)
        found = [float16_of(word) for word in ptx.run(program, 8, [low, high, shift])]
        whole = (low | high << 32) >> shift
        assert found == [(whole >> 4 * i & 15) - 8 for i in (0, 4, 1, 5, 2, 6, 3, 7)]
