-- Keeps a note (ARGV[5] name, ARGV[6] value), or adds its members to those of the note that is there (ARGV[7]).
local value = ARGV[6]
local there = ARGV[7] == 'merge' and call('HGET', root .. ':notes', ARGV[5])
if there then
  local members, all = {}, {}
  for _, list in ipairs({ cjson.decode(there), cjson.decode(value) }) do
    for _, member in ipairs(list) do
      if not members[member] then all[#all + 1] = member end
      members[member] = true
    end
  end
  table.sort(all)
  value = #all > 0 and cjson.encode(all) or '[]'
end
call('HSET', root .. ':notes', ARGV[5], value)
