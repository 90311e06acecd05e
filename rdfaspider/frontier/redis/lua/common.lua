-- What every script begins with. KEYS[1] is a partition of the crawl, {NAME:NUMBER}; all other keys begin
-- with it, so they are on one node of a cluster. ARGV: epoch, now, lease, fetches at once of a host; below zero
-- if the servers of hosts matter, so that a host must be placed before it is asked.
--
--   {p}              hash: counters by name, unfinished URLs by depth (u0, u1 …), epoch, buckets
--   {p}:seen:N       hashes, small enough to stay packed: fingerprint -> 8 * depth + state
--   {p}:hosts        hash: host -> packed record
--   {p}:queue:D:HOST list: "fingerprint attempts tail" of the URLs of a host that wait at a depth
--   {p}:sleeping     sorted set: host -> when it may be asked next
--   {p}:ready        list: hosts whose time has come, in turn
--   {p}:unplaced     sorted set: host whose server nobody knows yet -> when it is to be named (again)
--   {p}:flying       hash: fingerprint -> packed worker, token, host, attempts, tail
--   {p}:leases       sorted set: fingerprint -> when its lease ends
--   {p}:later        sorted set: "fingerprint attempts host tail" -> when it may be tried again
--   {p}:links:D      hash: fingerprint -> links of a done page that may still be found by a shorter way
--   {p}:failed       hash: fingerprint -> "host tail" of failed URLs, up to a bound
--   {p}:denied       hash: the same of denied ones
--   {p}:why          hash: fingerprint -> "time attempts status reason" of what failed, was denied or is tried again
--   {p}:out          list: "depth links" that are to be taken in once more, by a better depth
--
-- Invariant. A URL that waits at a depth has exactly one entry in the queue of that depth; entries at
-- other depths are remains, known by their depth, and skipped. A host that has URLs waiting and room
-- under its limit is either asleep or among the ready ones, as its record says.

local call, root = redis.call, KEYS[1]
local now, lease, at_once = tonumber(ARGV[2]), tonumber(ARGV[3]), math.abs(tonumber(ARGV[4]))
local servers_matter = tonumber(ARGV[4]) < 0
local about = call('HMGET', root, 'epoch', 'buckets', 'seen')
if about[1] ~= ARGV[1] then
  return redis.error_reply('LOST the partition ' .. root)
end

local WAITING, FLYING, LATER, DONE, FAILED, DENIED = 0, 1, 2, 3, 4, 5
local ENDED = { done = DONE, failed = FAILED, denied = DENIED }

local function exact(number)
  return string.format('%.17g', number)
end

-- counters: gathered, and written at the end

local added = {}

local function add(name, count)
  added[name] = (added[name] or 0) + count
end

-- the seen-set: linear hashing, so that buckets are split one at a time as the crawl grows

local LOAD = 80
local buckets, seen = tonumber(about[2]), tonumber(about[3] or 0)
local half = 1
while half * 2 <= buckets do half = half * 2 end

local function slot(print)
  return tonumber(string.sub(print, -9))
end

local function bucket(print)
  local number = slot(print) % (half * 2)
  if number >= buckets then number = number - half end
  return root .. ':seen:' .. number
end

local function state_of(print)
  local value = tonumber(call('HGET', bucket(print), print))
  if value then
    return value % 8, math.floor(value / 8)
  end
end

local function set_state(print, state, depth)
  call('HSET', bucket(print), print, 8 * depth + state)
end

local function split_bucket()
  local from, to = root .. ':seen:' .. (buckets - half), root .. ':seen:' .. buckets
  local all, moved, gone = call('HGETALL', from), {}, {}
  for i = 1, #all, 2 do
    if slot(all[i]) % (half * 2) == buckets then
      gone[#gone + 1] = all[i]
      moved[#moved + 1] = all[i]
      moved[#moved + 1] = all[i + 1]
    end
  end
  for i = 1, #gone, 1000 do
    local last = math.min(i + 999, #gone)
    call('HDEL', from, unpack(gone, i, last))
    call('HSET', to, unpack(moved, 2 * i - 1, 2 * last))
  end
  buckets = buckets + 1
  if buckets == half * 2 then half = buckets end
end

-- hosts

local H = {
  where = 1, taken_in = 2, waiting = 3, flying = 4, later = 5, done = 6, failed = 7, clock = 8,
  blocked = 9, pause = 10, low = 11, failures = 12, crawl_delay = 13, latency = 14, backoff = 15,
  address = 16, server = 17,
}
local NOWHERE, SLEEPING, READY, UNPLACED = 0, 1, 2, 3
local hosts = {}

local function find_host(name)
  local host = hosts[name]
  if not host then
    local data = call('HGET', root .. ':hosts', name)
    if data then
      host = cmsgpack.unpack(data)
      hosts[name] = host
    end
  end
  return host
end

local function new_host(name, pause)
  hosts[name] = { NOWHERE, 0, 0, 0, 0, 0, 0, 0, 0, pause, 255, 0, 0, 0, 0, false, 0 }
  return hosts[name]
end

local function due(host)
  return math.max(host[H.clock], host[H.blocked], host[H.server])
end

local function can_give(host)
  return host[H.waiting] > 0 and host[H.flying] < at_once
end

-- Lets a host that was asked rest for its pause, from `time` if nothing else is in flight.
local function rest(host, time)
  if at_once == 1 then
    host[H.clock] = math.max(host[H.clock], time + host[H.pause])
  end
end

-- Puts a host where it belongs. One among the ready ones stays there and is looked at in its turn.
local function place(name, host)
  if can_give(host) then
    if servers_matter and not host[H.address] then
      if host[H.where] ~= UNPLACED then call('ZADD', root .. ':unplaced', 'NX', 0, name) end
      host[H.where] = UNPLACED
    elseif host[H.where] ~= READY then
      call('ZADD', root .. ':sleeping', exact(due(host)), name)
      host[H.where] = SLEEPING
    end
  elseif host[H.where] == SLEEPING then
    call('ZREM', root .. ':sleeping', name)
    host[H.where] = NOWHERE
  end
end

local function queue(depth, name)
  return root .. ':queue:' .. depth .. ':' .. name
end

-- Lets a URL wait that was in flight or put off, in front of the others of its depth.
local function wait_again(name, host, print, attempts, tail)
  local _, depth = state_of(print)
  set_state(print, WAITING, depth)
  call('LPUSH', queue(depth, name), print .. ' ' .. attempts .. ' ' .. tail)
  host[H.low] = math.min(host[H.low], depth)
  host[H.waiting] = host[H.waiting] + 1
end

-- Takes a URL out of flight; returns its host and what was known of it, if `token` holds it.
local function land(print, token)
  local data = call('HGET', root .. ':flying', print)
  if not data then return end
  local flight = cmsgpack.unpack(data)
  if token and flight[2] ~= token then return end
  call('HDEL', root .. ':flying', print)
  call('ZREM', root .. ':leases', print)
  local host = find_host(flight[3])
  host[H.flying] = host[H.flying] - 1
  add('in_flight', -1)
  return host, flight
end

local function put_back(print, token, time)
  local host, flight = land(print, token)
  if host then
    wait_again(flight[3], host, print, flight[4], flight[5])
    add('waiting', 1)
    rest(host, time)
  end
end

-- Puts back what was lost, and what was put off until now.
local function put_back_overdue()
  for _, print in ipairs(call('ZRANGEBYSCORE', root .. ':leases', '-inf', exact(now), 'LIMIT', 0, 500)) do
    put_back(print, nil, now)
    add('expired', 1)
  end
  for _, entry in ipairs(call('ZRANGEBYSCORE', root .. ':later', '-inf', exact(now), 'LIMIT', 0, 500)) do
    local print, attempts, name, tail = string.match(entry, '^(%d+) (%d+) (%S+) (.*)$')
    call('ZREM', root .. ':later', entry)
    local host = find_host(name)
    host[H.later] = host[H.later] - 1
    wait_again(name, host, print, attempts, tail)
  end
end

-- Returns when the first host will be ready or something comes back, nil if there is nothing.
local function next_time()
  while true do
    local name = call('LINDEX', root .. ':ready', 0)
    if not name then break end
    local host = find_host(name)
    if can_give(host) and due(host) <= now then return now end
    call('LPOP', root .. ':ready')
    host[H.where] = NOWHERE
    place(name, host)
  end
  if call('EXISTS', root .. ':out') == 1 then return now end
  local first
  for _, set in ipairs({ ':sleeping', ':later', ':leases' }) do
    local score = tonumber(call('ZRANGE', root .. set, 0, 0, 'WITHSCORES')[2])
    if score and (not first or score < first) then first = score end
  end
  -- Somebody was asked where a host is: the answer changes what is ready.
  if call('EXISTS', root .. ':unplaced') == 1 then
    local named = servers_matter and now + lease or now
    first = math.min(first or named, named)
  end
  return first
end

-- Writes down what was changed in memory only.
local function save()
  while seen + (added.seen or 0) > buckets * LOAD do split_bucket() end
  for name, host in pairs(hosts) do
    place(name, host)
    call('HSET', root .. ':hosts', name, cmsgpack.pack(host))
  end
  if buckets ~= tonumber(about[2]) then call('HSET', root, 'buckets', buckets) end
  for name, count in pairs(added) do
    if count ~= 0 then call('HINCRBY', root, name, count) end
  end
  hosts, added = {}, {}
end

-- Returns when something will be ready next, as it is told to the worker.
local function save_and_tell_next()
  save()
  local first = next_time()
  save()
  return first and exact(first) or false
end
