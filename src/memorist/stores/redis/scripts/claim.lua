-- Leases due jobs of one queue, oldest first. With limit 0 it leases nothing and returns the ranks of due jobs.
-- Finding and leasing are one script, so that no two workers get the same job.
-- ARGV: now, limit, how many to look at, ready prefix, running prefix, end of due, owner, leased until, running (text),
-- how many indexes the client knows. A job's first index member begins with its queue and status; others are kept.
local t = table_of('jobs', 8, '0', ARGV[10])
local now, limit, look = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local ready, running, due_end = ARGV[4], ARGV[5], ARGV[6]
local order, due = t.order .. ':1', {}

-- A job's fields: 2 version, 4 status, 5 attempts, 6 owner, 7 leased until, 8 updated at.
local function consider(entry, prefix, must_lapse)
  local cut = find(entry, '\254', 1, true)
  local member, index_member = sub(entry, cut + 1), sub(entry, 1, cut - 1)
  local raw = call('GET', t.rows .. member)
  local row = raw and parse(t, raw)
  -- The server deletes an expired row without its entries, and another row may have been written under the same key.
  if not row or string.match(row.ix, '^[^\255]*') ~= index_member then
    call('ZREM', order, entry)
  elseif not must_lapse or (row.f[7] ~= '' and row.f[7] <= now) then
    due[#due + 1] = { rank = sub(index_member, #prefix + 1), member = member, row = row }
  end
end

for _, entry in ipairs(call('ZRANGEBYLEX', order, '[' .. ready, '(' .. due_end, 'LIMIT', 0, look)) do
  consider(entry, ready, false)
end
-- A job whose lease has lapsed is due again, because its worker must have stopped. Running jobs are few, so no limit.
for _, entry in ipairs(call('ZRANGEBYLEX', order, '[' .. running, '(' .. running .. '\255')) do
  consider(entry, running, true)
end
table.sort(due, function(a, b) return before(a.rank, b.rank) end)
local out = {}
if limit == 0 then
  for i = 1, math.min(look, #due) do out[i] = due[i].rank end
  return out
end
for i = 1, math.min(limit, #due) do
  local job = due[i]
  local f = job.row.f
  f[2], f[4], f[5] = format('%.0f', tonumber(f[2]) + 1), ARGV[9], format('%.0f', tonumber(f[5]) + 1)
  f[6], f[7], f[8] = ARGV[7], ARGV[8], now
  -- The status is part of the first index member, so the job moves within that index. Members of other indexes follow.
  local leased = build(t, f, job.row.shape, running .. job.rank .. (string.match(job.row.ix, '\255.*$') or ''), job.row.body)
  call('SET', t.rows .. job.member, leased.raw)
  index_drop(t, job.row.ix, job.member)
  index_add(t, leased.ix, job.member)
  if more_indexes(t) then call('ZADD', t.waiting, 0, job.member) end
  out[i] = leased.raw
end
return out
