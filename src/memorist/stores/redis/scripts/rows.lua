-- Functions shared by all scripts. A row is one string: 1 [8 hex of checksum] field; … shape; length; index members, body.
-- The first three fields are expires_at, version and created_at; others are columns that scripts must read or change.
-- rows.py says what each part is for.
-- Times are fixed-width digits, so that comparing texts compares times in every locale and loses no microsecond.
-- Every key begins with `base`, whose hash tag is the org. All keys of an org are therefore in one slot, and a script may
-- use them although it declares only this one.
local base = KEYS[1]
local call, sub, format, find, concat = redis.call, string.sub, string.format, string.find, table.concat
local tables = {}

local function table_of(name, width, checked, indexes, shape, known)
  local t = tables[name]
  if not t then
    width = tonumber(width)
    t = { name = name, width = width, checked = checked == '1', rows = base .. name .. ':', order = base .. '@' .. name,
      expiry = base .. '!' .. name, waiting = base .. '~' .. name, pattern = '^' .. string.rep('([^;]*);', width + 2) .. '()' }
    t.start = t.checked and 10 or 2
    tables[name] = t
  end
  if indexes then t.indexes = tonumber(indexes) end
  if shape then t.shape, t.known = shape, known end
  return t
end

local function parse(t, raw)
  local f = { string.match(raw, t.pattern, t.start) }
  -- The pattern ends with `()`, which captures the position after the fields. What follows may contain semicolons.
  local from, length = f[t.width + 3], tonumber(f[t.width + 2])
  return { f = f, shape = f[t.width + 1], ix = sub(raw, from, from + length - 1), body = sub(raw, from + length), raw = raw }
end

local function build(t, f, shape, ix, body)
  local raw = concat(f, ';', 1, t.width) .. ';' .. shape .. ';' .. #ix .. ';' .. ix .. body
  if t.checked then raw = sub(redis.sha1hex(raw), 1, 8) .. raw end
  return { f = f, shape = shape, ix = ix, body = body, raw = '1' .. raw }
end

-- Whether the newest version in use has more indexes of a table than the client. The hash `#indexes` holds that number per
-- table; a table that it lacks has the indexes of the first release.
local in_use
local function more_indexes(t)
  if not in_use then
    in_use = {}
    local pairs_of = call('HGETALL', base .. '#indexes')
    for i = 1, #pairs_of, 2 do in_use[pairs_of[i]] = tonumber(pairs_of[i + 1]) end
  end
  return t.indexes and (in_use[t.name] or 0) > t.indexes
end

-- A number column of a key, as keys.py encodes it. Doubles are exact up to 2^53, and 15 hex digits hold more than that.
local function ordinal(n)
  return '8' .. format('%015x', n)
end

local function before(a, b)  -- compares bytes, because Lua's own comparison follows the server's locale
  local n = math.min(#a, #b)
  for i = 1, n do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Index members are separated by 0xFF. 0xFE separates a member from its row's key. UTF-8 contains neither.
local function index_add(t, ix, member)
  local n = 0
  for part in string.gmatch(ix, '[^\255]+') do
    n = n + 1
    call('ZADD', t.order .. ':' .. n, 0, part .. '\254' .. member)
  end
end

local function index_drop(t, ix, member)
  local n = 0
  for part in string.gmatch(ix, '[^\255]+') do
    n = n + 1
    call('ZREM', t.order .. ':' .. n, part .. '\254' .. member)
  end
end

-- Lua's stack limits how many values `unpack` may return.
local function in_chunks(command, key, items)
  for from = 1, #items, 500 do
    local to = math.min(from + 499, #items)
    if key then call(command, key, unpack(items, from, to)) else call(command, unpack(items, from, to)) end
  end
end

local function drop_all(t, removed)  -- each entry of `removed` has the member and the old row
  local keys, members, ending = {}, {}, {}
  for n, e in ipairs(removed) do
    keys[n], members[n] = t.rows .. e.member, e.member
    if e.old.ix ~= '' then index_drop(t, e.old.ix, e.member) end
    if e.old.f[1] ~= '' then ending[#ending + 1] = e.member end
  end
  in_chunks('DEL', nil, keys)
  in_chunks('ZREM', t.order, members)
  in_chunks('ZREM', t.expiry, ending)
end
