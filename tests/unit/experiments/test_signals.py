"""Ctrl-C and requests to end."""

import os
import signal
import time

import pytest

from goalbound.experiments.signals import stop_on_signals


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.usefixtures("ctrl_c")
def test_the_first_ctrl_c_asks_and_the_second_insists():
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals() as stop:
        assert not stop()
        signal.raise_signal(signal.SIGTERM)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_where_ctrl_c_is_ignored_it_stays_so_and_a_request_to_end_still_insists(ctrl_c):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as nohup, or a shell that starts it in the background
    with stop_on_signals(force_after=0.1) as stop:
        signal.raise_signal(signal.SIGINT)
        assert not stop()
        signal.raise_signal(signal.SIGTERM)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(5.0)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.usefixtures("ctrl_c")
def test_work_that_never_checks_is_interrupted_after_the_grace():
    with stop_on_signals(force_after=0.1):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            time.sleep(30.0)
