"""A generation in force that nothing serves, and a serving that only records generations."""

from dataclasses import dataclass, field

from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.rules.diagnostic import Diagnostic
from tornado_proxy.service.building import Unbuildable
from tornado_proxy.service.snapshot import Configuration
from tornado_proxy.telemetry.metrics import ProcessReport
from tornado_proxy.web.generation import Generation, Parts

_PAGES = Pages()


def generation_of(configuration: Configuration, number: int = 1) -> Generation:
    """Makes a generation of a configuration, without stores."""
    settings = configuration.settings
    mounts = Mounts(sites(settings.targets, configuration.rule_sets), settings.oidc_providers, settings.list_targets)
    return Generation(number, Parts(settings, mounts, _PAGES, digest=configuration.snapshot.digest))


@dataclass
class RecordingServing:
    """Serving that records activated generations, or raises `Unbuildable`."""

    configuration: Configuration
    activated: list[tuple[int, Configuration]] = field(default_factory=list)
    mistake: Diagnostic | None = None
    worker_ends = 0

    def __post_init__(self) -> None:
        self.generation = generation_of(self.configuration)

    async def start(self, _sockets: object, *, inherited: bool) -> None:
        """Does nothing."""

    async def wind_down(self, _grace: float) -> None:
        """Does nothing."""

    def responsive(self) -> list[bool]:
        """It answers."""
        return [True]

    async def report(self, *, has_metrics: bool = False) -> ProcessReport:
        """No counts."""
        return ProcessReport()

    def workers(self) -> list[dict[str, object]]:
        """No workers."""
        return []

    async def activate(self, number: int, configuration: Configuration) -> None:
        """Record a generation, or raise `Unbuildable` with the mistake."""
        if self.mistake:
            raise Unbuildable((self.mistake,))
        self.activated.append((number, configuration))
        self.configuration, self.generation = configuration, generation_of(configuration, number)
