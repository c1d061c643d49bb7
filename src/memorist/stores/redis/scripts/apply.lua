-- Applies a batch of changes atomically. Redis scripts have no rollback, so every change is first applied to an overlay of
-- the rows it touches; a refusal returns from there, and only a batch whose changes all succeed is written at the end.
-- Nothing else runs on the node in the meantime, so the versions that are checked are still current when rows are written.
-- ARGV: now, slack (ms), changes (count, then each with its own).
local now, slack, at = ARGV[1], tonumber(ARGV[2]), 3
local entries, touched, removes = {}, {}, false
local unknown = { 'unknown' }  -- indexes, shapes and bodies of rows that may contain cells unknown to the client

local function take()
  at = at + 1
  return ARGV[at - 1]
end

local function take_table()
  local name, width, checked, indexes, shape, known = take(), take(), take(), take(), take(), take()
  return table_of(name, width, checked, indexes, shape, known)
end

-- Returns the overlay of one row: `old` as it is stored, `new` as the batch leaves it so far (false: deleted).
local function entry(t, member)
  local key = t.rows .. member
  local e = entries[key]
  if not e then
    local raw = call('GET', key)
    e = { t = t, member = member, key = key, old = raw and parse(t, raw) }
    e.new = e.old
    entries[key] = e
    touched[#touched + 1] = e
    t.touched = t.touched or {}  -- per table, so that a search for one table's rows is not quadratic in the batch
    t.touched[#t.touched + 1] = e
  end
  return e
end

local function live(row)
  return row and (row.f[1] == '' or row.f[1] > now)
end

-- Adds two 64-bit integers exactly: as doubles up to 15 digits, beyond that with the server's INCRBY; nil on overflow.
local function add(a, b)
  if #a <= 15 and #b <= 15 then return format('%.0f', tonumber(a) + tonumber(b)) end
  local scratch = base .. 'scratch'
  call('SET', scratch, a)
  local sum = redis.pcall('INCRBY', scratch, b)
  local text = call('GET', scratch)
  call('DEL', scratch)
  if type(sum) == 'table' then return nil end  -- pcall returns an error as a table
  return text
end

local function take_row(t)
  local f = {}
  for i = 1, t.width do f[i] = take() end
  return f, take(), take()
end

-- Checks that a row of a shape unknown to the client is replaced only by one into which the client merged its body;
-- otherwise adds it to `unknown`, which makes the client merge and try again.
local function may_replace(i, t, old, merged_from)
  if old and not find(t.known, ';' .. old.shape .. ';', 1, true) and redis.sha1hex(old.body) ~= merged_from then
    for _, part in ipairs({ i, old.shape, old.body }) do unknown[#unknown + 1] = part end
  end
end

-- Returns the last version in the history of a deleted row. A new row continues from it, so that no version is reused.
local function last_version(past, member)
  local last, high = 0, '(' .. member .. '\255'
  while last == 0 do
    local newest = call('ZREVRANGEBYLEX', past.order, high, '[' .. member, 'LIMIT', 0, 1)[1]
    if not newest then break end
    local e = entries[past.rows .. newest]  -- this batch may have deleted it
    if not e or e.new then last = tonumber(sub(newest, -15), 16) end
    high = '(' .. newest
  end
  for _, e in ipairs(past.touched or {}) do
    if e.new and not e.old and sub(e.member, 1, #member) == member then
      last = math.max(last, tonumber(sub(e.member, -15), 16))
    end
  end
  return last
end

local function put(i)
  local t = take_table()
  local shape, merged_from, flags, history, member = t.shape, take(), take(), take(), take()
  local f, ix, body = take_row(t)
  local e = entry(t, member)
  local old = e.new
  -- An expired row counts as absent here, but not below: its version goes on, so that no reader takes the new row for it.
  if find(flags, 'a', 1, true) and live(old) then return false end
  may_replace(i, t, old, merged_from)
  local past = history ~= '' and table_of(history, t.width, t.checked and '1' or '0')
  if find(flags, 'v', 1, true) then
    if old then
      f[2] = add(old.f[2], '1')
    else
      f[2] = format('%.0f', (past and last_version(past, member) or 0) + 1)
    end
  end
  if old and find(flags, 'c', 1, true) then f[3] = old.f[3] end
  if old and past then entry(past, member .. ordinal(tonumber(old.f[2]))).new = old end
  e.new = build(t, f, shape, ix, body)
  return { f[2], f[3] }
end

local function load(i)
  local t = take_table()
  local shape, merged_from, member = t.shape, take(), take()
  local f, ix, body = take_row(t)
  local e = entry(t, member)
  may_replace(i, t, e.new, merged_from)
  e.new = build(t, f, shape, ix, body)
  return false
end

-- Gives messages the next sequence numbers of their thread. Reading its length and writing the messages are one script, so
-- the numbers have no gaps and no duplicates, whoever else appends.
local function append(i)
  local member, where, receipt, when, tokens, count = take(), take(), take(), take(), take(), tonumber(take())
  local shape = take()
  local threads, messages = table_of('threads', 6, '0'), table_of('messages', 4, '1')
  local receipts = receipt ~= '' and table_of('receipts', 5, '0')
  local e = entry(threads, member)
  local thread = e.new
  if not live(thread) or (where ~= '' and string.match(thread.ix, '^[^\255]*') ~= where) then return nil, { 'thread', i } end
  if receipts then
    -- The same call was applied before, and its reply was lost. Return its result again, and append nothing.
    local stored = entry(receipts, receipt).new
    if stored then
      at = at + 2 * count + 2  -- skip the arguments that were not taken
      return { stored.f[4], stored.f[5], '', 1 }
    end
  end
  local length, expires = tonumber(thread.f[4]), thread.f[1]
  for n = 1, count do
    local seq = length + n
    local created, body = take(), take()
    entry(messages, member .. ordinal(seq)).new = build(messages, { expires, '', created, format('%.0f', seq) }, shape, '', body)
  end
  local first = format('%.0f', length + 1)
  if receipts then
    entry(receipts, receipt).new = build(receipts, { '', '', when, first, tostring(count) }, take(), '', take())
  end
  local f = thread.f
  local grown = { expires, add(f[2], '1'), f[3], format('%.0f', length + count), add(f[5], tokens), when }
  e.new = build(threads, grown, thread.shape, thread.ix, thread.body)
  return { first, count, expires, false }
end

local function delete(i)
  local t = take_table()
  local e = entry(t, take())
  local existed = e.new and 1 or 0
  e.new, removes = false, true
  return existed
end

local function delete_range(i)
  local t = take_table()
  local low, high, count = take(), take(), 0
  removes = true
  for _, member in ipairs(call('ZRANGEBYLEX', t.order, '[' .. low, '(' .. high)) do
    local e = entry(t, member)
    if e.new then e.new, count = false, count + 1 end
    e.listed = true
  end
  for _, e in ipairs(t.touched or {}) do  -- rows created earlier in this batch are not in the sorted set yet
    if e.new and not e.old and not before(e.member, low) and before(e.member, high) then
      e.new, count = false, count + 1
    end
  end
  return count
end

local function increment(i)
  local t = take_table()
  local shape, merged_from, member, by = t.shape, take(), take(), take()
  local f, ix, body = take_row(t)
  local e = entry(t, member)
  local old, total = e.new, nil
  may_replace(i, t, old, merged_from)
  if live(old) then
    if not find(old.f[4], '^%-?%d+$') then return nil, { 'integer', i } end
    total, f[1] = add(old.f[4], by), old.f[1]
  else
    total = add('0', by)
  end
  if not total then return nil, { 'range', i } end
  f[2], f[4] = old and add(old.f[2], '1') or '1', total
  if old then f[3] = old.f[3] end
  e.new = build(t, f, shape, ix, body)
  return total
end

-- Refuses the batch if a row has another version. Earlier changes of the same batch count, as in a transaction.
local function expect(i)
  local t = take_table()
  local row, version = entry(t, take()).new, take()
  local actual = live(row) and row.f[2] or '0'
  if actual ~= version then return nil, { 'conflict', i, actual } end
  return false
end

local function write(e)
  local t, old, new, member = e.t, e.old, e.new, e.member
  local expires, ended, oix = new.f[1], old and old.f[1] or '', old and old.ix or ''
  if expires == '' then
    call('SET', e.key, new.raw)  -- this also removes an expiry that the server enforced
    if ended ~= '' then call('ZREM', t.expiry, member) end
  else
    -- Reads compare expires_at with `now`. The server's own expiry only frees memory, with some slack: a jump of its
    -- clock must not drop a live row.
    local left = math.max(0, (tonumber(expires) - tonumber(now)) / 1000)
    call('SET', e.key, new.raw, 'PX', format('%.0f', left + slack))
    if expires ~= ended then call('ZADD', t.expiry, format('%.0f', tonumber(expires) - 1e18), member) end
  end
  if not old then call('ZADD', t.order, 0, member) end
  if new.ix ~= oix then
    if oix ~= '' then index_drop(t, oix, member) end
    if new.ix ~= '' then index_add(t, new.ix, member) end
  end
  -- A newer version has indexes that this one does not know: queue the row, and that version adds it before a scan.
  if (not old or new.ix ~= oix) and more_indexes(t) then call('ZADD', t.waiting, 0, member) end
end

local steps = { P = put, L = load, A = append, D = delete, R = delete_range, I = increment, E = expect }
local results, refused = { 'done' }, nil
for i = 1, tonumber(take()) do
  results[i + 1], refused = steps[take()](i)
  if refused then return refused end
end
if #unknown > 1 then return unknown end
-- A server that is out of memory refuses a script's first write if it needs memory, but allows all later writes. A batch
-- that deletes therefore begins with a DEL, so that it succeeds together with the few rows that it writes.
if removes then call('DEL', base .. 'scratch') end
local removed_by_table = {}
for _, e in ipairs(touched) do
  if e.new ~= e.old then
    if e.new then
      write(e)
    else
      removed_by_table[e.t] = removed_by_table[e.t] or {}
      table.insert(removed_by_table[e.t], e)
    end
  elseif e.listed and not e.new then  -- the server expired the row itself: remove its member from the sorted sets
    call('ZREM', e.t.order, e.member)
    call('ZREM', e.t.expiry, e.member)
  end
end
for t, removed in pairs(removed_by_table) do drop_all(t, removed) end
return results
