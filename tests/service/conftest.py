import gc

import pytest


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
