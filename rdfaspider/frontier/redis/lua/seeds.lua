-- Reads seeds that people push to KEYS[1], a list, set or sorted set. KEYS[2] has those a worker is taking in.
-- ARGV: how many to read, or -1 to push all back because the worker is gone; then those that are safe now.
-- Returns what is to be taken in.
local call = redis.call
for i = 2, #ARGV do call('LREM', KEYS[2], 1, ARGV[i]) end
local kind = call('TYPE', KEYS[1]).ok
if kind ~= 'list' and kind ~= 'set' and kind ~= 'zset' and kind ~= 'none' then return {} end

if ARGV[1] == '-1' then
  local left = call('LRANGE', KEYS[2], 0, -1)
  for _, seed in ipairs(left) do
    if kind == 'set' then
      call('SADD', KEYS[1], seed)
    elseif kind == 'zset' then
      call('ZADD', KEYS[1], 0, seed)
    else
      call('RPUSH', KEYS[1], seed)
    end
  end
  call('DEL', KEYS[2])
  return {}
end

if call('LLEN', KEYS[2]) == 0 then
  for _ = 1, tonumber(ARGV[1]) do
    local seed
    if kind == 'set' then
      seed = call('SPOP', KEYS[1])
    elseif kind == 'zset' then
      seed = call('ZPOPMAX', KEYS[1])[1]
    else
      seed = call('LPOP', KEYS[1])
    end
    if not seed then break end
    call('RPUSH', KEYS[2], seed)
  end
end
return call('LRANGE', KEYS[2], 0, -1)
