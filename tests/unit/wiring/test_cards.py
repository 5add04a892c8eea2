"""Looks at the cards: stuck, failing and odd drivers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from types import SimpleNamespace

import pynvml
import pytest

from genesisd.errors import UnavailableError
from genesisd.supervisor.ports import Card
from genesisd.wiring import cards as module
from genesisd.wiring.cards import NvmlLedger, look

CARD = Card(0, 100, 60, {7: 40})


class Driver:
    """A look that blocks until it is let go; counts how often it was begun."""

    def __init__(self):
        self.begun = 0
        self.go = threading.Event()
        self.threads = set()

    def __call__(self):
        self.begun += 1
        self.threads.add(threading.current_thread())
        assert self.go.wait(20)
        return {0: CARD}


@pytest.fixture
def driver():
    driver = Driver()
    yield driver
    driver.go.set()
    for thread in driver.threads:
        thread.join(20)


async def test_a_look_that_answers_is_the_answer():
    """Cards by index."""
    assert await NvmlLedger(lambda: {0: CARD}).cards() == {0: CARD}


async def test_a_driver_that_blocks_is_unavailable_and_gets_no_second_thread(driver):
    """Each question ends in time; one thread stands still, not one a question."""
    ledger = NvmlLedger(driver, seconds=0.02)
    for _ in range(3):
        with pytest.raises(UnavailableError, match=r"no answer in 0\.02 s") as caught:
            await ledger.cards()
        assert "nvidia-smi" in caught.value.hint
    assert driver.begun == 1


async def test_the_loop_runs_while_a_driver_blocks(driver):
    """Others get hundreds of turns while one waits for the card."""
    waiting = asyncio.create_task(NvmlLedger(driver).cards())
    for _ in range(500):
        await asyncio.sleep(0)
    assert not waiting.done()
    driver.go.set()
    assert await waiting == {0: CARD}


async def test_those_who_ask_at_once_share_a_look(driver):
    """A scrape and ten gates cost one."""
    ledger = NvmlLedger(driver)
    asking = [asyncio.create_task(ledger.cards()) for _ in range(10)]
    await asyncio.sleep(0)
    driver.go.set()
    assert await asyncio.gather(*asking) == [{0: CARD}] * 10
    assert driver.begun == 1


async def test_one_who_gives_up_does_not_take_the_look_from_the_others(driver):
    """A cancelled question leaves the answer to whoever still waits."""
    ledger = NvmlLedger(driver)
    first, second = (asyncio.create_task(ledger.cards()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    driver.go.set()
    assert await second == {0: CARD}


async def test_a_driver_that_recovers_is_asked_again(driver):
    """The late answer is forgotten, the next question begins a look of its own."""
    ledger = NvmlLedger(driver, seconds=0.02)
    with pytest.raises(UnavailableError):
        await ledger.cards()
    driver.go.set()
    await asyncio.to_thread(next(iter(driver.threads)).join)
    await asyncio.sleep(0)
    assert await NvmlLedger.cards(ledger) == {0: CARD}
    assert driver.begun == 2


async def test_a_late_failure_is_nobodys_error(driver, caplog):
    """The look failed after everybody had gone: neither raised nor logged."""

    def fail():
        driver()
        raise OSError("gone")

    ledger = NvmlLedger(fail, seconds=0.02)
    with pytest.raises(UnavailableError):
        await ledger.cards()
    driver.go.set()
    await asyncio.to_thread(next(iter(driver.threads)).join)
    await asyncio.sleep(0)
    del ledger
    assert caplog.records == []


def test_a_stuck_driver_does_not_hold_up_the_end_of_the_process():
    """Python waits for an executor's threads at its exit, for ever where NVML hangs."""
    program = (
        "import asyncio, threading\n"
        "from genesisd.wiring.cards import NvmlLedger\n"
        "from genesisd.errors import UnavailableError\n"
        "async def main():\n"
        "    try:\n"
        "        await NvmlLedger(threading.Event().wait, seconds=0.02).cards()\n"
        "    except UnavailableError:\n"
        "        print('unavailable')\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=40, check=True)
    assert (ended.stdout, ended.stderr) == ("unavailable\n", "")


# --- NVML itself ----------------------------------------------------------------------------------------------


class Nvml:
    """pynvml's functions, with a fault where it is wanted."""

    def __init__(self, monkeypatch):
        self.faults = {}
        self.shut = 0
        self.compute = [SimpleNamespace(pid=7, usedGpuMemory=40)]
        self.graphics = []
        memory = SimpleNamespace(total=100, free=60, used=40)
        for name, answer in {
            "nvmlInit": lambda: None,
            "nvmlDeviceGetCount": lambda: 1,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetMemoryInfo": lambda handle: memory,
            "nvmlDeviceGetComputeRunningProcesses": lambda handle: self.compute,
            "nvmlDeviceGetGraphicsRunningProcesses": lambda handle: self.graphics,
            "nvmlDeviceGetCudaComputeCapability": lambda handle: (8, 6),
            "nvmlShutdown": self._shutdown,
        }.items():
            monkeypatch.setattr(module.pynvml, name, self._faulty(name, answer))

    def _shutdown(self):
        self.shut += 1

    def _faulty(self, name, answer):
        def call(*arguments):
            if name in self.faults:
                raise pynvml.NVMLError(self.faults[name])
            return answer(*arguments)

        return call


@pytest.fixture
def nvml(monkeypatch):
    return Nvml(monkeypatch)


def test_a_card_is_read_with_its_holders(nvml):
    """Computing and drawing processes together; bytes that the driver keeps to itself count 0."""
    nvml.graphics = [SimpleNamespace(pid=9, usedGpuMemory=None)]
    assert look() == {0: Card(0, 100, 60, {7: 40, 9: 0}, 86)}
    assert nvml.shut == 1


@pytest.mark.parametrize("code", [pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED])
def test_a_box_without_a_driver_has_no_cards(nvml, code):
    """That is a fact, not a fault."""
    nvml.faults["nvmlInit"] = code
    assert look() == {}


@pytest.mark.parametrize("code", [pynvml.NVML_ERROR_UNKNOWN, pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH])
def test_a_driver_that_cannot_be_reached_is_unavailable(nvml, code):
    """A mismatch after an update is no 'no cards'."""
    nvml.faults["nvmlInit"] = code
    with pytest.raises(UnavailableError, match="did not answer"):
        look()


@pytest.mark.parametrize("name", ["nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetMemoryInfo"])
def test_a_card_that_fell_off_the_bus_is_unavailable(nvml, name):
    """And the library is let go of."""
    nvml.faults[name] = pynvml.NVML_ERROR_GPU_IS_LOST
    with pytest.raises(UnavailableError):
        look()
    assert nvml.shut == 1


def test_a_card_that_does_not_tell_its_generation_is_a_card_all_the_same(nvml):
    """Only patches ask for it, and they take 'not known' for an answer."""
    nvml.faults["nvmlDeviceGetCudaComputeCapability"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    assert look()[0].sm is None


def test_processes_that_may_not_be_listed_are_left_out(nvml):
    """Then free memory alone decides."""
    nvml.faults["nvmlDeviceGetComputeRunningProcesses"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    assert look() == {0: Card(0, 100, 60, {}, 86)}


def test_a_library_that_will_not_close_does_not_cost_the_answer(nvml):
    """What was seen counts."""
    nvml.faults["nvmlShutdown"] = pynvml.NVML_ERROR_UNINITIALIZED
    assert look()[0].free == 60
