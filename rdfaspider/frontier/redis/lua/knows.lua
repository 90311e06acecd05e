-- Returns the state and the depth of a URL and why it failed, by its fingerprint (ARGV[5]), or nothing if it is
-- not known.
local state, depth = state_of(ARGV[5])
return state and { state, depth, call('HGET', root .. ':why', ARGV[5]) or '' }
