"""How the CUDA form shares a batch out, its own code compiled for a CPU: every token once, in both cuts."""

import ctypes
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: the group `kernels`")

from genesisd.kernels.tq_verify import hopper
from tests.helpers.hopper_on_cpu import DEVICE

ENTRY = """
extern "C" void run(const int* lens, int batch, int splits, int narrow_to, int* found) {
  kernel = [=] {
    const Cut cut = cut_of(lens, batch, splits, narrow_to);
    const Share share = share_of(lens, batch, cut.chunk, blockIdx.y);
    if (threadIdx.x) return;
    int* mine = found + blockIdx.y * 4;
    mine[0] = share.seq, mine[1] = share.split, mine[2] = cut.chunk, mine[3] = cut.narrow;
  };
  run_grid(1, splits);
}
"""
BATCHES = (
    (0,),
    (1,),
    (0, 0, 0),
    (5, 0, 3),
    (50000, *[1] * 40),
    (*[1] * 40, 50000),
    tuple(range(0, 130, 2)),
    (64,) * 33,
)


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """hopper_share.cu as g++ takes it."""
    place = tmp_path_factory.mktemp("share")
    text = (hopper.HERE / hopper.SHARE).read_text()
    (place / "share.cpp").write_text(
        f'#include "{DEVICE}"\n#define CHUNK 128\n#define NARROW 24\n#define D 256\n{text}\n{ENTRY}'
    )
    command = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o", place / "share.so", place / "share.cpp"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(str(place / "share.so"))


@pytest.mark.parametrize("lens", BATCHES, ids=lambda lens: f"{len(lens)} of {max(lens)}")
@pytest.mark.parametrize("narrow_to", [0, 192, 512])
@pytest.mark.parametrize("room", [2, 3, 37])
def test_every_token_is_one_programs_in_both_cuts(code, lens, narrow_to, room):
    """An odd number of chunks and the tightest one included; what is left of the grid has nothing to do."""
    splits = 2 * len(lens) + room
    found = (ctypes.c_int * (4 * splits))()
    code.run((ctypes.c_int * len(lens))(*lens), len(lens), splits, narrow_to, found)
    items = [tuple(found[4 * i : 4 * i + 4]) for i in range(splits)]
    (chunk, narrow), *others = {item[2:] for item in items}
    assert not others
    expected = [(seq, split) for seq, length in enumerate(lens) for split in range(-(-length // chunk))]
    assert len(expected) <= (splits // 2 if narrow else splits)
    assert [item[:2] for item in items] == expected + [(-1, 0)] * (splits - len(expected))
    whole = max(-(sum(lens) // -(splits - len(lens)) // 64) * 64, 128)  # the chunk of programs with all rows
    assert narrow == (whole <= narrow_to)
