-- Keeps a note (ARGV[5] name, ARGV[6] value), or adds its members to those of the note that is there (ARGV[7]):
-- an array to an array, an object of arrays to an object of arrays. A note of another kind is replaced.
local value = ARGV[6]

-- Returns the members of both arrays as JSON. An empty table of Lua might be either, so that is spelt out.
local function union(one, other)
  local members, all = {}, {}
  for _, list in ipairs({ one, other }) do
    for _, member in ipairs(list) do
      if not members[member] then all[#all + 1] = member end
      members[member] = true
    end
  end
  table.sort(all)
  return #all > 0 and cjson.encode(all) or '[]'
end

local function merge(one, other)
  local names, parts = {}, {}
  for name in pairs(one) do names[#names + 1] = name end
  for name in pairs(other) do
    if not one[name] then names[#names + 1] = name end
  end
  table.sort(names)
  for i, name in ipairs(names) do
    parts[i] = cjson.encode(name) .. ':' .. union(one[name] or {}, other[name] or {})
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

local there = ARGV[7] == 'merge' and call('HGET', root .. ':notes', ARGV[5])
local kind = string.sub(value, 1, 1)
if there and string.sub(there, 1, 1) == kind then
  value = (kind == '{' and merge or union)(cjson.decode(there), cjson.decode(value))
end
call('HSET', root .. ':notes', ARGV[5], value)
