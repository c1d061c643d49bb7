-- Adds rows to indexes that did not exist in the version that wrote them. One script per page, so that no scan sees a row
-- in some of its indexes only.
-- ARGV: table (six parts), then per row: member, SHA-1 of the row as it was read (empty: gone), its index members now.
local t = table_of(ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
for at = 7, #ARGV, 3 do
  local member, digest, ix = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local raw = call('GET', t.rows .. member)
  if not raw then
    call('ZREM', t.waiting, member)
  elseif redis.sha1hex(raw) == digest then  -- else it was written since it was read, and that write queued it if needed
    local row = parse(t, raw)
    if row.ix ~= ix then
      -- KEEPTTL: a plain SET would make a row permanent whose expiry the server enforces.
      call('SET', t.rows .. member, build(t, row.f, row.shape, ix, row.body).raw, 'KEEPTTL')
      if row.ix ~= '' then index_drop(t, row.ix, member) end
      index_add(t, ix, member)
    end
    call('ZREM', t.waiting, member)
  end
end
return call('ZCARD', t.waiting)
