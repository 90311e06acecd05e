-- Names hosts that wait to be placed, up to ARGV[5]; each again only after a lease.
local names = call('ZRANGEBYSCORE', root .. ':unplaced', '-inf', exact(now), 'LIMIT', 0, ARGV[5])
for _, name in ipairs(names) do
  call('ZADD', root .. ':unplaced', exact(now + lease), name)
end
return names
