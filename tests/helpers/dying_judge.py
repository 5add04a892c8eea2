"""The daemon, that dies by its own hand between a decision of the judge, which is kept then, and its order.

python -m tests.helpers.dying_judge --config FILE        GENESISD_TEST_DIES_BEFORE=Restart|Hold
"""

from __future__ import annotations

import os
import signal
import sys

from genesisd import __main__ as program
from genesisd.judge.model import Order
from genesisd.wiring.desk import JudgeDesk

_carry_out = JudgeDesk._carry_out


def carry_out(self: JudgeDesk, worker: str, order: Order) -> None:
    """As the real one, up to the order that is its last."""
    if type(order).__name__ == os.environ["GENESISD_TEST_DIES_BEFORE"]:
        os.kill(os.getpid(), signal.SIGKILL)
    _carry_out(self, worker, order)


if __name__ == "__main__":
    JudgeDesk._carry_out = carry_out  # type: ignore[method-assign]
    sys.exit(program.main())
