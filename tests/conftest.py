"""What all tests share: an environment without proxies, signals as usual, and examples that may take their time."""

import os
import signal

from hypothesis import HealthCheck, settings

EXAMPLES = 50
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy", "no_proxy")


def pytest_configure() -> None:
    _forget_proxies()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup, and so by what the tests start
    # On a busy machine an example of a millisecond takes a second now and then, and nothing is wrong with it.
    # Most laws here are broken by one table of ten or by none; a law that needs more examples says how many.
    settings.register_profile(
        "any machine", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("any machine")


def _forget_proxies() -> None:
    """Tests talk to servers on loopback; where a machine has a proxy, requests and gRPC would talk to that instead."""
    for name in PROXIES:
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
