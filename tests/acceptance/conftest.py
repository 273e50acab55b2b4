from tests.acceptance.servers import broker

__all__ = ["broker"]
