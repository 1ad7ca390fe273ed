import gc

import pytest
from coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]


@pytest.fixture(autouse=True)
def _collector():
    """Restores the garbage collector, which a service sets for its whole process."""
    thresholds, callbacks = gc.get_threshold(), [*gc.callbacks]
    gc.enable()  # a command leaves it off until its service has begun
    yield
    gc.unfreeze()
    gc.callbacks[:] = callbacks
    gc.set_threshold(*thresholds)
    gc.enable()
