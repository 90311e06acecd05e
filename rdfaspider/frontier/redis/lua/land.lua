-- Ends URLs in flight, or puts them back. ARGV[5]: links of pages this deep are needed no more; then 14 for each:
-- what (done, failed, denied, later, waiting, refused, slow, placed, wake, delivered), fingerprint or host,
-- token, time, depth, until, rejected, links, and of its host pause, failures, crawl delay, latency, back-off,
-- blocked. Of what failed, was denied or is tried later, "status reason" stands in the place of the links.
-- Of `slow`, time is until when the host is left alone, and until its crawl delay, below zero if that is as it was.
-- Returns fingerprints and depths of URLs that are not ended because a shorter way to them was found, and
-- hosts that were woken for nothing, and when something is ready next.

local WIDTH = 14
local shallower, idle = {}, {}

local function forget_links()
  local floor = tonumber(ARGV[5])
  local pruned = tonumber(call('HGET', root, 'pruned') or -1)
  if floor ~= pruned then  -- it falls when seeds come
    for depth = pruned + 1, floor do call('UNLINK', root .. ':links:' .. depth) end
    call('HSET', root, 'pruned', floor)
  end
end

local function note_manners(host, i)
  local pause = tonumber(ARGV[i + 8])
  if tonumber(ARGV[i + 10]) ~= host[H.crawl_delay] then
    -- Another worker has read robots.txt meanwhile, which the pause does not know yet.
    pause = math.max(pause, host[H.pause])
  end
  host[H.pause] = pause
  host[H.failures] = tonumber(ARGV[i + 9])
  host[H.latency] = tonumber(ARGV[i + 11])
  host[H.backoff] = tonumber(ARGV[i + 12])
  host[H.blocked] = math.max(host[H.blocked], tonumber(ARGV[i + 13]))
end

local function slow_down(host, i, blocked)
  local crawl_delay = tonumber(ARGV[i + 5])
  if crawl_delay >= 0 then
    host[H.crawl_delay], host[H.pause] = crawl_delay, tonumber(ARGV[i + 8])
  end
  host[H.blocked] = math.max(host[H.blocked], blocked)
end

-- What failed and what was denied is kept with its text, for people, and so is why, but not without end.
local MOST_KEPT = 10000

local function keep(hash, print, value, most)
  if call('HLEN', hash) < most or call('HEXISTS', hash, print) == 1 then
    call('HSET', hash, print, value)
  end
end

local function keep_why(i, print, time, attempts)
  keep(root .. ':why', print, table.concat({ exact(time), attempts, ARGV[i + 7] }, ' '), 3 * MOST_KEPT)
end

local function finish(i, print, token, time)
  local state, depth = state_of(print)
  if state ~= FLYING then return end
  local links = ARGV[i + 7]
  if tonumber(ARGV[i + 4]) > depth then
    local data = call('HGET', root .. ':flying', print)
    if data and cmsgpack.unpack(data)[2] == token then
      shallower[#shallower + 1] = print
      shallower[#shallower + 1] = depth
    end
    return
  end
  local host, flight = land(print, token)
  if not host then return end
  local what = ARGV[i]
  note_manners(host, i)
  set_state(print, ENDED[what], depth)
  add(what, 1)
  add('u' .. depth, -1)
  add('rejected depth', tonumber(ARGV[i + 6]))
  if what == 'denied' then
    if at_once == 1 then host[H.clock] = time end  -- it was not asked
  else
    host[H[what]] = host[H[what]] + 1
    rest(host, time)
  end
  if what ~= 'done' then
    keep(root .. ':' .. what, print, flight[3] .. ' ' .. flight[5], MOST_KEPT)
    keep_why(i, print, time, what == 'failed' and flight[4] + 1 or flight[4])
    return
  end
  if links ~= '' then call('HSET', root .. ':links:' .. depth, print, links) end
  if tonumber(flight[4]) > 0 then call('HDEL', root .. ':why', print) end
end

local function put_off(i, print, token, time)
  local host, flight = land(print, token)
  if not host then return end
  add('waiting', 1)
  if ARGV[i] == 'refused' then  -- by its server, which has another fetch to do until then
    host[H.clock], host[H.server] = time, tonumber(ARGV[i + 5])
    wait_again(flight[3], host, print, flight[4], flight[5])
    return
  end
  note_manners(host, i)
  rest(host, time)
  if ARGV[i] == 'waiting' then
    wait_again(flight[3], host, print, flight[4], flight[5])
    return
  end
  local _, depth = state_of(print)
  set_state(print, LATER, depth)
  local attempts = math.min(flight[4] + 1, 255)
  local entry = table.concat({ print, attempts, flight[3], flight[5] }, ' ')
  keep_why(i, print, time, attempts)
  call('ZADD', root .. ':later', ARGV[i + 5], entry)
  host[H.later] = host[H.later] + 1
end

for i = 6, #ARGV, WIDTH do
  local what, print, token, time = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  if what == 'slow' then
    local host = find_host(print)
    if host then slow_down(host, i, time) end
  elseif what == 'wake' then
    local host = find_host(print)
    if host then host[H.server] = time end
    if not host or not can_give(host) then idle[#idle + 1] = print end
  elseif what == 'placed' then
    local host = find_host(print)
    if host then
      host[H.address] = ARGV[i + 7]
      call('ZREM', root .. ':unplaced', print)
      if host[H.where] == UNPLACED then host[H.where] = NOWHERE end
    end
  elseif what == 'delivered' then
    if call('LREM', root .. ':out', 1, ARGV[i + 7]) == 1 then add('u' .. ARGV[i + 4], -1) end
  elseif what == 'later' or what == 'waiting' or what == 'refused' then
    put_off(i, print, token, time)
  else
    finish(i, print, token, time)
  end
end
local first = save_and_tell_next()
-- What is put on record is so by what was known of the depth then, and forgotten by what is known now.
forget_links()
return { shallower, idle, first }
