-- Enters an org in the register of expiries (see registers.py). ARGV: now, a row's expiry in microseconds, the org.
-- Both sets change together: an early expiry that was not seen would be replaced by the next purge.
-- LT: a later expiry must not hide an earlier one. It also adds orgs that are not in the set.
redis.call('ZADD', KEYS[1], 'LT', ARGV[2], ARGV[3])
return redis.call('ZADD', 'mm:{' .. KEYS[1] .. '}:seen', ARGV[1], ARGV[3])
