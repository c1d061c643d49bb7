-- Removes orgs from the register of work if they were entered before a given time. ARGV: that time, then the orgs.
-- An org entered later stays, because its job may not be written yet. The comparison is here because a writer may enter the
-- org again after the worker has looked.
local old = {}
for _, org in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])) do old[org] = true end
local removed = 0
for i = 2, #ARGV do
  if old[ARGV[i]] then removed = removed + redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return removed
