from tests.acceptance.engine import engine, own_engine, receiver
from tests.acceptance.servers import broker

__all__ = ["broker", "engine", "own_engine", "receiver"]
