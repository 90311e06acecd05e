-- Hands out URLs. ARGV[5…8]: how many, how far ahead of their time, worker, slack.
-- Returns the URLs, each with all that is known of its host, and when something will be ready next.

local want, ahead = tonumber(ARGV[5]), now + tonumber(ARGV[6])
local worker, slack = ARGV[7], tonumber(ARGV[8])
local given = {}

-- More than are wanted, so that hosts whose time came together take turns: who was asked long ago is first.
local function wake()
  local most = math.max(4 * want, 100)
  local names = call('ZRANGEBYSCORE', root .. ':sleeping', '-inf', exact(ahead), 'LIMIT', 0, most)
  table.sort(names, function(a, b)
    local one, other = find_host(a), find_host(b)
    if due(one) ~= due(other) then return due(one) < due(other) end
    if one[H.clock] ~= other[H.clock] then return one[H.clock] < other[H.clock] end
    return a < b
  end)
  for _, name in ipairs(names) do
    call('ZREM', root .. ':sleeping', name)
    call('RPUSH', root .. ':ready', name)
    find_host(name)[H.where] = READY
  end
end

-- Returns the first URL of a host that waits; entries of URLs that have moved since are dropped.
local function pop(name, host)
  for depth = host[H.low], 255 do
    host[H.low] = depth
    while true do
      local entry = call('LPOP', queue(depth, name))
      if not entry then break end
      local print, attempts, tail = string.match(entry, '^(%d+) (%d+) (.*)$')
      local state, now_at = state_of(print)
      if state == WAITING and now_at == depth then return print, tonumber(attempts), tail, depth end
    end
  end
  add('lost', host[H.waiting])
  add('waiting', -host[H.waiting])
  host[H.waiting] = 0
end

local function give(name, host)
  local print, attempts, tail, depth = pop(name, host)
  if not print then return end
  local start = math.max(due(host), now)
  local token = call('HINCRBY', root, 'tokens', 1)
  set_state(print, FLYING, depth)
  call('HSET', root .. ':flying', print, cmsgpack.pack({ worker, token, name, attempts, tail }))
  call('ZADD', root .. ':leases', exact(start + lease), print)
  host[H.waiting] = host[H.waiting] - 1
  host[H.flying] = host[H.flying] + 1
  host[H.clock] = start + host[H.pause] + (host[H.pause] > 0 and slack or 0)
  add('waiting', -1)
  add('in_flight', 1)
  given[#given + 1] = {
    print, token, depth, attempts, exact(start), name, tail, host[H.done], host[H.failed],
    host[H.failures], exact(host[H.crawl_delay]), exact(host[H.latency]), exact(host[H.backoff]),
    exact(host[H.blocked]), host[H.address] or '',
  }
end

put_back_overdue()
if not servers_matter then
  -- Whoever thought that servers matter has left hosts there; nobody here will place them.
  for _, name in ipairs(call('ZRANGE', root .. ':unplaced', 0, 999)) do
    call('ZREM', root .. ':unplaced', name)
    find_host(name)[H.where] = NOWHERE
  end
end
save()  -- whoever comes back may be asked at once
wake()
while #given < want do
  local name = call('LPOP', root .. ':ready')
  if not name then break end
  local host = find_host(name)
  host[H.where] = NOWHERE
  local placed = host[H.address] or not servers_matter
  if placed and can_give(host) and due(host) <= ahead then
    give(name, host)
    if can_give(host) and due(host) <= ahead then
      call('RPUSH', root .. ':ready', name)
      host[H.where] = READY
    end
  end
end
return { given, save_and_tell_next() }
