-- Takes a worker (ARGV[1]) off the list. KEYS: times of the last beats, what is known of the workers.
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
