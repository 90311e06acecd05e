-- Tells whether a URL is known, by its fingerprint (ARGV[5]).
return state_of(ARGV[5]) and 1 or 0
