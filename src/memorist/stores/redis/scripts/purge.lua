-- Removes expired rows for good, and the index members of rows that the server expired itself. Returns the count per
-- table, then the expiry of the next row (empty: none expires). Both are read in one script, so that a row written in
-- between cannot be missing from the answer.
-- ARGV: now, then per table: its six parts, limit.
local now, counts, ends = ARGV[1], {}, nil
-- Scores are doubles and may be rounded, so look a little beyond `now`. The expiry in the row itself decides.
local border = format('%.0f', tonumber(now) - 1e18 + 1000)
for at = 2, #ARGV, 7 do
  local t, ended, collected = table_of(ARGV[at], ARGV[at + 1], ARGV[at + 2]), {}, {}
  for _, member in ipairs(call('ZRANGEBYSCORE', t.expiry, '-inf', border, 'LIMIT', 0, ARGV[at + 6])) do
    local raw = call('GET', t.rows .. member)
    local row = raw and parse(t, raw)
    if not row then
      collected[#collected + 1] = member
    elseif row.f[1] ~= '' and row.f[1] <= now then
      ended[#ended + 1] = { member = member, old = row }
    end
  end
  drop_all(t, ended)
  -- Only the row itself said what its index members were. A scan removes each of them when it meets it.
  in_chunks('ZREM', t.order, collected)
  in_chunks('ZREM', t.expiry, collected)
  counts[#counts + 1] = #ended + #collected
  local first = tonumber(call('ZRANGE', t.expiry, 0, 0, 'WITHSCORES')[2] or '')
  if first and (not ends or first < ends) then ends = first end
end
counts[#counts + 1] = ends and format('%.0f', ends) or ''
return counts
