-- Sets the next expiry of orgs that were purged. ARGV: a time, an expiry, then per org its name and next expiry (empty: none).
-- An org entered after that time may have a row that is not written yet: its next visit is at the given expiry at the latest.
local seen = 'mm:{' .. KEYS[1] .. '}:seen'
for at = 3, #ARGV, 2 do
  local org, ends = ARGV[at], ARGV[at + 1]
  local entered = redis.call('ZSCORE', seen, org)
  if entered and tonumber(entered) > tonumber(ARGV[1]) then
    if ends == '' or tonumber(ends) > tonumber(ARGV[2]) then ends = ARGV[2] end
    redis.call('ZADD', KEYS[1], ends, org)
  elseif ends == '' then
    redis.call('ZREM', KEYS[1], org)
    redis.call('ZREM', seen, org)  -- otherwise this set would keep every org that ever had such a row
  else
    redis.call('ZADD', KEYS[1], ends, org)
  end
end
return #ARGV
