"""A clock for tests: time passes when somebody sleeps on it, or when the test says so."""


class Clock:
    """Stands in for the module `time` where a module of the project uses its monotonic and sleep."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds
