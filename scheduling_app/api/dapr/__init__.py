"""Dapr's HTTP API: its addresses, its headers, its answers."""
