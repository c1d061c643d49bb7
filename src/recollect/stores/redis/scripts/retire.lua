-- Takes orgs without rows out of the register of orgs. ARGV: now, a time before it, then the orgs.
-- An org goes when it was found empty before that time and nobody registered it since; else it is noted as empty now.
local empty = 'rc:{' .. KEYS[1] .. '}:empty'
local gone = 0
for at = 3, #ARGV do
  local since = redis.call('ZSCORE', empty, ARGV[at])
  if not since then
    redis.call('ZADD', empty, ARGV[1], ARGV[at])
  elseif tonumber(since) <= tonumber(ARGV[2]) then
    gone = gone + redis.call('SREM', KEYS[1], ARGV[at])
    redis.call('ZREM', empty, ARGV[at])
  end
end
return gone
