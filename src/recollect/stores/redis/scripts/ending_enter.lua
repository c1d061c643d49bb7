-- Enters an org in the register of ends. ARGV: the time, the end of a row in microseconds, the org.
redis.call('ZADD', KEYS[1], 'LT', ARGV[2], ARGV[3])
return redis.call('ZADD', 'rc:{' .. KEYS[1] .. '}:seen', ARGV[1], ARGV[3])
