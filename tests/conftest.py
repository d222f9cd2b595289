"""What all tests share: one engine for the whole session, and how many examples the property tests try."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from harness import Harness

settings.register_profile("default", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("full", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
os.environ["GRAPHBREAK_CACHE"] = ""  # servers that tests start run what they are given, each time
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def harness() -> Iterator[Harness]:
    """The real engine, with a prepared parent where it can fork. Nothing of it is left when the session ends."""
    harness = Harness()
    yield harness
    harness.close()
    give_up = time.monotonic() + 5
    while harness.processes() and time.monotonic() < give_up:
        time.sleep(0.05)
    assert harness.processes() == [], "worker processes are left"
