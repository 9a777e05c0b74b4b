"""What all tests share: the environment in which they run."""

import os

from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # how long an example takes says more of the load than of us
settings.load_profile("any machine")

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy", "no_proxy")


def pytest_configure() -> None:
    """Tests talk to servers on loopback; where a machine has a proxy, requests and gRPC would talk to that instead."""
    for name in PROXIES:
        os.environ.pop(name, None)
        os.environ.pop(name.upper(), None)
