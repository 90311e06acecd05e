-- Returns the counters, when something will be ready next, links that are to be passed on, how many hosts wait
-- to be placed, and how many are at work: due within ARGV[5] seconds, or asked no longer ago. (Of a worker that
-- was killed hosts are in flight for long.)
put_back_overdue()
local first = save_and_tell_next()
local near = tonumber(ARGV[5])
local at_work = call('LLEN', root .. ':ready')
  + call('ZCOUNT', root .. ':sleeping', '-inf', exact(now + near))
  + call('ZCOUNT', root .. ':leases', exact(now + lease - near), '+inf')
return { call('HGETALL', root), first, call('LRANGE', root .. ':out', 0, 19),
  call('ZCARD', root .. ':unplaced'), at_work }
