-- Returns the counters, when something will be ready next, and links that are to be passed on, and
-- how many hosts wait to be placed.
put_back_overdue()
local first = save_and_tell_next()
return { call('HGETALL', root), first, call('LRANGE', root .. ':out', 0, 19),
  call('ZCARD', root .. ':unplaced') }
