-- Enters an org in the register of expiries (see registers.py). ARGV: now, a row's expiry in microseconds, the org.
redis.call('ZADD', KEYS[1], 'LT', ARGV[2], ARGV[3])
return redis.call('ZADD', 'mm:{' .. KEYS[1] .. '}:seen', ARGV[1], ARGV[3])
