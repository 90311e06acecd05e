-- Lets failed URLs wait again, by their fingerprints (ARGV[5…]). Returns how many.
local count = 0
for i = 5, #ARGV do
  local print = ARGV[i]
  local entry, state, depth = call('HGET', root .. ':failed', print), state_of(print)
  if entry and state == FAILED then
    local name, tail = string.match(entry, '^(%S+) (.*)$')
    local host = find_host(name)
    call('HDEL', root .. ':failed', print)
    call('HDEL', root .. ':why', print)
    wait_again(name, host, print, 0, tail)
    host[H.failed] = host[H.failed] - 1
    add('failed', -1)
    add('waiting', 1)
    add('u' .. depth, 1)
    count = count + 1
  end
end
save()
return count
