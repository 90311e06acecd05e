-- Notes that a worker is alive. KEYS: times of the last beats, what is known of the workers, what they are told.
-- ARGV: worker, what to know of it, the time (of Redis itself if empty).
-- Returns the time, the workers with their last beats, and what all are told.
local time = tonumber(ARGV[3])
if not time then
  local parts = redis.call('TIME')
  time = parts[1] + parts[2] / 1e6
end
if ARGV[1] ~= '' then
  redis.call('ZADD', KEYS[1], string.format('%.17g', time), ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
return {
  string.format('%.17g', time), redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'),
  redis.call('HGETALL', KEYS[3]), string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'),
}
