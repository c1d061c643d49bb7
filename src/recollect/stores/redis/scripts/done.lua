-- Takes orgs out of the register of work that were entered before a time: ARGV is that time, then the orgs.
-- One entered again meanwhile has a later time and stays: a job of it may be on its way.
local old = {}
for _, org in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])) do old[org] = true end
local gone = 0
for i = 2, #ARGV do
  if old[ARGV[i]] then gone = gone + redis.call('ZREM', KEYS[1], ARGV[i]) end
end
return gone
