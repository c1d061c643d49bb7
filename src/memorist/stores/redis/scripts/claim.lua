-- Leases due jobs of one queue, oldest first. With limit 0 it leases nothing and returns the ranks of due jobs.
-- ARGV: now, limit, how many to look at, ready prefix, running prefix, end of due, owner, leased until, running (text),
-- how many indexes the client knows. A job's first index member begins with its queue and status; others are kept.
local t = table_of('jobs', 8, '0', ARGV[10])
local now, limit, look = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local ready, running, due_end = ARGV[4], ARGV[5], ARGV[6]
local order, due = t.order .. ':1', {}

local function consider(place, prefix, must_lapse)
  local cut = find(place, '\254', 1, true)
  local member, index = sub(place, cut + 1), sub(place, 1, cut - 1)
  local raw = call('GET', t.rows .. member)
  local row = raw and parse(t, raw)
  local own = row and string.match(row.ix, '^[^\255]*')
  if own ~= index then
    call('ZREM', order, place)
  elseif not must_lapse or (row.f[7] ~= '' and row.f[7] <= now) then
    due[#due + 1] = { rank = sub(index, #prefix + 1), member = member, row = row }
  end
end

for _, place in ipairs(call('ZRANGEBYLEX', order, '[' .. ready, '(' .. due_end, 'LIMIT', 0, look)) do
  consider(place, ready, false)
end
for _, place in ipairs(call('ZRANGEBYLEX', order, '[' .. running, '(' .. running .. '\255')) do
  consider(place, running, true)
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
  local taken = build(t, f, job.row.shape, running .. job.rank .. (string.match(job.row.ix, '\255.*$') or ''), job.row.body)
  call('SET', t.rows .. job.member, taken.raw)
  index_drop(t, job.row.ix, job.member)
  index_add(t, taken.ix, job.member)
  if more_indexes(t) then call('ZADD', t.waiting, 0, job.member) end
  out[i] = taken.raw
end
return out
