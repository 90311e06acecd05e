-- Puts back what a worker has in flight (ARGV[5]) but for the tokens that follow its name and the delay of
-- servers (ARGV[6], empty if its turns at servers are not to be taken back). Returns hosts to wake.
local worker, delay, woken = ARGV[5], tonumber(ARGV[6]), {}
local kept = {}
for i = 7, #ARGV do kept[tonumber(ARGV[i])] = true end

local all = call('HGETALL', root .. ':flying')
for i = 1, #all, 2 do
  local flight = cmsgpack.unpack(all[i + 1])
  if flight[1] == worker and not kept[flight[2]] then
    put_back(all[i], flight[2], now)
    add('evicted', 1)
  end
end

-- Nobody may be looking for the servers any more that the worker was told to find.
if delay and call('EXISTS', root .. ':unplaced') == 1 then
  call('ZUNIONSTORE', root .. ':unplaced', 1, root .. ':unplaced', 'WEIGHTS', 0)
end

local servers = delay and call('HGETALL', root .. ':servers') or {}
for i = 1, #servers, 2 do
  local server, fetches = cmsgpack.unpack(servers[i + 1]), {}
  for _, fetch in ipairs(server[2]) do
    if fetch[2] ~= worker then fetches[#fetches + 1] = fetch end
  end
  if #fetches < #server[2] then
    server[1], server[2] = math.max(server[1], now + delay), fetches
    call('HSET', root .. ':servers', servers[i], cmsgpack.pack(server))
    local host = call('ZPOPMIN', root .. ':server:' .. servers[i])[1]
    if host then woken[#woken + 1] = exact(server[1]) .. ' ' .. servers[i] .. ' ' .. host end
  end
end
save()
return woken
