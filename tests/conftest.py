"""What tests of every folder share."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The recorded files beside the checkout; a test that asks for them is marked `shared` too."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the recorded files in {SHARED}, which are not there")
    return SHARED
