"""A worker's side of the service.

client.py      `ServedFrontier`, the frontier that a worker sees; says what messages ask and report
session.py     numbers the messages and sends them, and keeps what the worker holds
connection.py  the connection, with a thread of its own
"""
