-- Gives fetches their turn at a server, or takes it back. All hosts at one address share it.
--
--   {p}:servers         hash: address -> packed clock, fetches under way (id, worker, deadline), promised start
--   {p}:server:ADDRESS  sorted set: hosts that were refused, by when
--
-- Of the hosts that are refused one has the promise of the next start, and comes back then. The others wait
-- to be woken, one whenever a fetch ends; if nobody does that, because a worker died, their patience
-- ends.
--
-- ARGV: at once, delay, lease, patience, worker; what (ask, leave, come, next), address, id, time, how it leaves or the
-- latest start, host. Answers an ask with the start, negative if refused until then; the others with
-- when the server may be asked, its address, and the host to wake, or with nothing.

local at_once, delay, lease = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local patience, worker, what, address, id = tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local time, how, host = tonumber(ARGV[9]), ARGV[10], ARGV[11]
local call, root = redis.call, KEYS[1]
local refused = root .. ':server:' .. address
local data = call('HGET', root .. ':servers', address)
local server = data and cmsgpack.unpack(data) or { 0, {}, 0 }

local function exact(number)
  return string.format('%.17g', number)
end

local function keep()
  call('HSET', root .. ':servers', address, cmsgpack.pack(server))
end

local function add_fetch(start)
  server[2][#server[2] + 1] = { id, worker, start + lease }
  server[1] = math.max(server[1], start + delay)
end

-- Takes out fetches that are overdue, or the one with an id; tells whether there was one.
local function drop_fetches(is_gone)
  local left = {}
  for _, fetch in ipairs(server[2]) do
    if not is_gone(fetch) then left[#left + 1] = fetch end
  end
  local found = #left < #server[2]
  server[2] = left
  return found
end

local function wake()
  local first = call('ZPOPMIN', refused)[1] or ''
  server[3] = server[1]
  return exact(server[1]) .. ' ' .. address .. ' ' .. first, first ~= ''
end

local deeds = {}

function deeds.ask()
  -- Also its own, if this ask is sent again because the answer did not arrive.
  drop_fetches(function(fetch) return fetch[3] <= time or (fetch[1] == id and fetch[2] == worker) end)
  local start, is_busy = math.max(time, server[1]), #server[2] >= at_once
  local answer = start
  if not is_busy and start <= tonumber(how) then
    add_fetch(start)
    call('ZREM', refused, host)
  elseif not is_busy and server[3] < start then
    server[3], answer = start, -start
  else
    call('ZADD', refused, 'NX', exact(time), host)
    answer = -(time + patience)
  end
  keep()
  return exact(answer)
end

function deeds.leave()
  if not drop_fetches(function(fetch) return fetch[1] == id and fetch[2] == worker end) then return '' end
  if how == 'unasked' and at_once == 1 then
    server[1] = time
  elseif how == 'asked' and at_once == 1 then
    server[1] = math.max(server[1], time + delay)
  end
  local answer, is_somebody = wake()
  if is_somebody and host ~= '' then call('ZADD', refused, 'NX', exact(time), host) end
  keep()
  return answer
end

-- A host has moved here with a fetch under way, which began at `time`.
function deeds.come()
  add_fetch(time)
  keep()
  return ''
end

-- The host that was woken has nothing to ask for any more.
deeds['next'] = function()
  local answer, is_somebody = wake()
  keep()
  return is_somebody and answer or ''
end

return deeds[what]()
