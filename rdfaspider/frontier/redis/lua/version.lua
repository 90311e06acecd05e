-- Tells all workers that a note has changed. KEYS[1]: what they are told; ARGV[1]: the name of the note.
return redis.call('HINCRBY', KEYS[1], 'note ' .. ARGV[1], 1)
