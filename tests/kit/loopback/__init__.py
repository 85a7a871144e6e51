"""Loopback servers that speak each provider's wire protocol, as strict as the real ones, with faults on request.

`Loopback(api, script)` for tests, `python -m tests.kit.loopback` for the whole program. No network, no real provider.
"""
