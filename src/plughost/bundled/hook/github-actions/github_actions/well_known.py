"""What everybody knows about services: the image that a name means, and what that image needs to start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """What a well-known service needs: its port, how to ask whether it is up, and what its image insists on."""

    port: str
    health: str
    env: tuple[tuple[str, str], ...] = ()


# No passwords: the service is reachable from its job alone, and lives as long.
KNOWN = {
    "postgres": Known("5432:5432", "pg_isready", (("POSTGRES_HOST_AUTH_METHOD", "trust"),)),
    "mysql": Known("3306:3306", '"mysqladmin ping"', (("MYSQL_ALLOW_EMPTY_PASSWORD", "yes"),)),
    "mariadb": Known(
        "3306:3306", '"healthcheck.sh --connect"', (("MARIADB_ALLOW_EMPTY_ROOT_PASSWORD", "yes"),)
    ),
    "redis": Known("6379:6379", '"redis-cli ping"'),
    "mongo": Known("27017:27017", "\"mongosh --quiet --eval 'db.runCommand({ping: 1})'\""),
}
OTHER_NAMES = {"postgresql": "postgres", "mongodb": "mongo"}


def image_of(name: str) -> str:
    """Return the image that *name* means: `postgresql:16` is the image `postgres:16`."""
    start, colon, tag = name.partition(":")
    return OTHER_NAMES.get(start, start) + (colon + tag or ":latest")


def known_service(image: str) -> Known | None:
    """Return what is known about *image*, whatever its registry and tag."""
    return KNOWN.get(image.rpartition("/")[2].partition(":")[0].partition("@")[0])
