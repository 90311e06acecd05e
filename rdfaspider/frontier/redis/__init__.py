"""The parts of the frontier that many workers share: scripts, the way to Redis, and the crew."""
