-- Removes orgs from the register of work if they were entered before a given time. ARGV: that time, then the orgs.
-- An org entered later stays, because its job may not be written yet.
local old = {}
for _, org in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])) do old[org] = true end
local gone = 0
for i = 2, #ARGV do
  if old[ARGV[i]] then gone = gone + redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return gone
