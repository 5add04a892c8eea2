"""Every fault names its line and its field: one file a fault, the expectation in the file's first line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from genesisd.config import load
from genesisd.errors import ConfigError

FILES = sorted((Path(__file__).parents[2] / "data" / "invalid").glob("*.yaml"))
EXPECT = re.compile(r'# expect: line (\d+), field (.+?), "(.*)"')


def test_the_corpus_is_there():
    """An empty glob would pass everything."""
    assert len(FILES) >= 30


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_fault_is_found_where_it_stands(file):
    """File, line and field as the first line of the file says, and nothing else is complained of."""
    line, field, problem = EXPECT.fullmatch(file.read_text().split("\n", 1)[0]).groups()
    with pytest.raises(ConfigError) as caught:
        load(file, environ={"HOME": "/root"}, root=True)
    fields = caught.value.fields
    assert (fields["file"], fields["line"], str(fields["field"])) == (str(file), int(line), field)
    assert problem in caught.value.message
    assert f"{file}:{line}:" in caught.value.message
    assert len(fields["problems"]) == 1, caught.value.message
