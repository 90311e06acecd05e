"""A worker's side of the service.

client.py      `ServedFrontier`, the frontier that a worker sees
session.py     its session with the service: operations go one way, URLs come the other
connection.py  the connection, with a thread of its own
"""
