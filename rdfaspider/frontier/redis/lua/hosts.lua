-- Returns some hosts with their records, from a cursor on (ARGV[5]), and the next cursor.
local answer = call('HSCAN', root .. ':hosts', ARGV[5], 'COUNT', 500)
local views = {}
for i = 1, #answer[2], 2 do
  local host = cmsgpack.unpack(answer[2][i + 1])
  views[#views + 1] = {
    answer[2][i], host[H.waiting], host[H.flying], host[H.later], host[H.done], host[H.failed],
    exact(host[H.clock]), exact(host[H.blocked]), exact(host[H.crawl_delay]), exact(host[H.latency]),
  }
end
return { answer[1], views }
