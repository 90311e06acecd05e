-- Takes in URLs. ARGV[5…8]: deepest, deepest with a query, URLs of a host in all, waiting; ARGV[9]: pause of a
-- new host; ARGV[10]: lines, either a host alone or "fingerprint depth tail" of a URL of the last host.
-- Returns fingerprints and better depths of URLs that are in flight, and when something is ready next.

local deepest, dynamic = tonumber(ARGV[5]), tonumber(ARGV[6])
local most, most_waiting = tonumber(ARGV[7]), tonumber(ARGV[8])
local better = {}
local name, host, fresh

local function push_fresh()
  for depth, entries in pairs(fresh or {}) do
    call('RPUSH', queue(depth, name), unpack(entries))
  end
  fresh = {}
end

local function enqueue(print, depth, tail)
  local entries = fresh[depth]
  if not entries then
    entries = {}
    fresh[depth] = entries
  end
  entries[#entries + 1] = print .. ' 0 ' .. tail
  if #entries == 1000 then push_fresh() end
  host[H.low] = math.min(host[H.low], depth)
end

local function take_in(print, depth, tail)
  if depth > (string.find(tail, '?', 1, true) and dynamic or deepest) then
    add(depth > deepest and 'rejected depth' or 'rejected dynamic_depth', 1)
    return
  end
  host = host or find_host(name) or new_host(name, tonumber(ARGV[9]))
  if depth > 0 and host[H.taken_in] >= most then
    add('rejected host_urls', 1)
    return
  end
  if depth > 0 and host[H.waiting] + host[H.flying] >= most_waiting then
    add('rejected host_waiting', 1)
    return
  end
  set_state(print, WAITING, depth)
  enqueue(print, depth, tail)
  host[H.taken_in] = host[H.taken_in] + 1
  host[H.waiting] = host[H.waiting] + 1
  add('seen', 1)
  add('waiting', 1)
  add('u' .. depth, 1)
end

-- Passes the links of a done page on by its new depth, or lets it wait again if they are not on record.
local function pass_on(print, old, depth, tail)
  local links = call('HGET', root .. ':links:' .. old, print)
  if links then
    local target = depth + tonumber(string.match(links, '^%d+'))
    call('HDEL', root .. ':links:' .. old, print)
    call('HSET', root .. ':links:' .. depth, print, links)
    call('RPUSH', root .. ':out', target .. ' ' .. links)
    add('u' .. target, 1)
    set_state(print, DONE, depth)
    return
  end
  set_state(print, WAITING, depth)
  enqueue(print, depth, tail)
  host[H.done] = host[H.done] - 1
  host[H.waiting] = host[H.waiting] + 1
  add('done', -1)
  add('waiting', 1)
  add('u' .. depth, 1)
end

local function improve(print, state, old, depth, tail)
  host = host or find_host(name)
  if state == DONE then
    pass_on(print, old, depth, tail)
    return
  end
  set_state(print, state, depth)
  if state == FAILED or state == DENIED then return end
  add('u' .. old, -1)
  add('u' .. depth, 1)
  if state == WAITING then
    enqueue(print, depth, tail)
  elseif state == FLYING then
    better[#better + 1] = print
    better[#better + 1] = depth
  end
end

for line in string.gmatch(ARGV[10], '[^\n]+') do
  local print, depth, tail = string.match(line, '^(%d+) (%d+) (.*)$')
  if not print then
    push_fresh()
    name, host = line, nil
  else
    depth = tonumber(depth)
    local state, old = state_of(print)
    if not state then
      take_in(print, depth, tail)
    elseif depth < old then
      improve(print, state, old, depth, tail)
    end
  end
end
push_fresh()
return { better, save_and_tell_next() }
