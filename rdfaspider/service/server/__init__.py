"""The side of the service that has the frontier: it hands out URLs and applies what workers did.

network.py     sockets, and who may connect; process.py runs a service
handler.py     what the service does for its workers, without any network
workers.py     the workers, what each of them holds, and what it reported of itself
questions.py   answers to questions of people and of workers
allocator.py   which worker gets which URL; partitions.py which hosts belong together
workerlog.py   the log of all workers
"""
