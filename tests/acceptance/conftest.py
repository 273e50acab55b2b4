from tests.acceptance.engine import engine, receiver
from tests.acceptance.servers import broker

__all__ = ["broker", "engine", "receiver"]
