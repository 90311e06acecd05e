"""The scripts that Redis runs for nodes and workers; registry.py says what the keys are."""

from rdfaspider.redislink import Script

OPEN = Script("""
local kind = redis.call('HGET', KEYS[1], 'kind')
if kind ~= 'log' and redis.call('EXISTS', KEYS[1]) == 1 then return {kind or ''} end
redis.call('HSET', KEYS[1], 'kind', 'log')
for i = 1, #ARGV, 2 do redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1]) end
local time = redis.call('TIME')
local crawl = redis.call('HMGET', KEYS[1], 'id', 'secret', 'order')
return {crawl[1], crawl[2], crawl[3], time[1], time[2]}
""")
# Return how many shards a crawl has. If nobody has begun it, write down how many it is to have.
SHARDS = Script("""
local crawl = redis.call('HMGET', KEYS[1], 'kind', 'shards')
if crawl[1] == 'shards' then return tonumber(crawl[2]) end
if tonumber(ARGV[1]) == 1 or redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
redis.call('HSET', KEYS[1], 'kind', 'shards', 'shards', ARGV[1])
return tonumber(ARGV[1])
""")
# Take the lease if nobody else has it; the number is higher than all that Redis or the node knows of.
TAKE = Script("""
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] then return 0 end
local last = tonumber(redis.call('HGET', KEYS[1], 'number') or '0')
local number = math.max(last, tonumber(ARGV[2])) + 1
redis.call('HSET', KEYS[1], 'kind', 'log', 'number', number, 'mark', number .. ARGV[1] .. ':0',
           'place', ARGV[4])
for i = 5, #ARGV, 2 do redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
return number
""")
# Renew the lease and add an entry, unless another node has led since. An entry that was added already, by
# a call whose answer was lost, is not added twice; if what this leader has added is gone, that is said. The
# mark has its name too: a fail-over may forget that it leads, and give its number to another.
KEEP = Script("""
local crawl = redis.call('HMGET', KEYS[1], 'number', 'mark')
if not crawl[1] or tonumber(crawl[1]) < tonumber(ARGV[2]) then return 'lost' end
if crawl[1] ~= ARGV[2] then return 'gone' end
local who = ARGV[2] .. ARGV[1] .. ':'
local before, mark = who .. (ARGV[4] - 1), who .. ARGV[4]
if ARGV[5] == '' then before = mark end
if crawl[2] ~= before and crawl[2] ~= mark then return 'lost' end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
if ARGV[5] == '' then return '' end
if crawl[2] == mark then return redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1][1] end
local id = redis.call('XADD', KEYS[3], '*', 'z', ARGV[5])
redis.call('HSET', KEYS[1], 'mark', mark)
if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'trimmed', id) end
return id
""")
TRIM = Script("""
if redis.call('HGET', KEYS[1], 'number') ~= ARGV[1] then return 0 end
local cut = 0
if ARGV[2] ~= '' then cut = redis.call('XTRIM', KEYS[2], 'MINID', ARGV[2]) end
cut = cut + redis.call('XTRIM', KEYS[2], 'MAXLEN', '~', ARGV[3])
if cut > 0 then
  local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)
  redis.call('HSET', KEYS[1], 'trimmed', first[1] and first[1][1] or ARGV[2])
end
return cut
""")
BEAT = Script("""
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] + time[2] / 1000000, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
""")
CLAIM = Script("""
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
if redis.call('ZCOUNT', KEYS[1], now - ARGV[3], '+inf') >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[1])
return 1
""")
LEAVE = Script("""
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
return 1
""")
LOOK = Script("""
local crawl = redis.call('HMGET', KEYS[1], 'number', 'trimmed', 'secret', 'order', 'place')
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local names = redis.call('ZRANGEBYSCORE', KEYS[3], now - ARGV[1], '+inf')
local about = {}
for i, name in ipairs(names) do about[i] = redis.call('HGET', KEYS[4], name) or '{}' end
return {crawl[1] or '0', crawl[2] or '0-0', crawl[3] or '', crawl[4] or '',
        crawl[5] or '', redis.call('GET', KEYS[2]) or '', names, about}
""")
