-- Removes orgs without rows from the register of orgs, in two rounds. ARGV: now, an earlier time, then the orgs.
-- An org is removed if an earlier round found it empty before that time and nobody registered it since; otherwise this
-- round notes it as empty. In between, a writer whose entry came before its first row has had time to write it.
local empty = 'mm:{' .. KEYS[1] .. '}:empty'
local removed = 0
for at = 3, #ARGV do
  local since = redis.call('ZSCORE', empty, ARGV[at])
  if not since then
    redis.call('ZADD', empty, ARGV[1], ARGV[at])
  elseif tonumber(since) <= tonumber(ARGV[2]) then
    removed = removed + redis.call('SREM', KEYS[1], ARGV[at])
    redis.call('ZREM', empty, ARGV[at])
  end
end
return removed
