-- Returns one page of live rows between two bounds, in order: { the member to continue from (or false), row, row, … }.
-- ARGV: table (six parts), index number (0: the key itself), low, high, reverse, limit, now, bytes per page, cells.
-- Cells: `all` sends whole rows; `none` sends only the expiry and the member of each row; names between semicolons, as in
-- `;size;metadata;`, leave all other cells of the body out of long rows.
local t = table_of(ARGV[1], ARGV[2], ARGV[3])
local index, low, high, reverse = tonumber(ARGV[7]), '[' .. ARGV[8], '(' .. ARGV[9], ARGV[10] == '1'
local limit, now, room, cells = tonumber(ARGV[11]), ARGV[12], tonumber(ARGV[13]), ARGV[14]
local long = 1024  -- bytes: taking a shorter row apart costs more than sending it
local order = index == 0 and t.order or t.order .. ':' .. index
local out = { false }

-- Returns false for a stale member of a row that the server expired and that was then written again.
local function belongs(row, index_member)
  local n = 0
  for part in string.gmatch(parse(t, row).ix, '[^\255]+') do
    n = n + 1
    if n == index then return part == index_member end
  end
  return false
end

local function is_whole(row)
  return not t.checked or sub(redis.sha1hex(sub(row, 10)), 1, 8) == sub(row, 2, 9)
end

local function number(text, from, bytes)
  local n = 0
  for i = from, from + bytes - 1 do n = n * 256 + string.byte(text, i) end
  return n
end

-- The bytes after the first one of a MessagePack cell. Texts and bytes have their length in 1, 2 or 4 bytes.
local fixed = { [0xc0] = 0, [0xc2] = 0, [0xc3] = 0, [0xca] = 4, [0xcb] = 8, [0xcc] = 1, [0xcd] = 2, [0xce] = 4, [0xcf] = 8,
  [0xd0] = 1, [0xd1] = 2, [0xd2] = 4, [0xd3] = 8 }
local counted = { [0xc4] = 1, [0xc5] = 2, [0xc6] = 4, [0xd9] = 1, [0xda] = 2, [0xdb] = 4 }

local function cell_end(body, at)  -- nil for a list or a map, which no cell of ours is
  local kind = string.byte(body, at)
  if kind < 0x80 or kind >= 0xe0 then return at end
  if kind >= 0xa0 and kind < 0xc0 then return at + kind - 0xa0 end
  if counted[kind] then return at + counted[kind] + number(body, at + 1, counted[kind]) end
  return fixed[kind] and at + fixed[kind]
end

local function shortened(row)
  if cells == 'all' or #row < long or not is_whole(row) then return row end
  local parsed = parse(t, row)
  local body, part, at = parsed.body, {}, 2
  local left = string.byte(body) - 0x80
  if left == 0xde - 0x80 then left, at = number(body, 2, 2), 4 end
  while left > 0 do
    local name_end = cell_end(body, at)
    local last = name_end and cell_end(body, name_end + 1)
    if not last then return row end
    -- Names are short texts: the first byte is the length.
    if find(cells, ';' .. sub(body, at + 1, name_end) .. ';', 1, true) then part[#part + 1] = sub(body, at, last) end
    left, at = left - 1, last + 1
  end
  return build(t, parsed.f, parsed.shape, parsed.ix, string.char(0xde, 0, #part) .. concat(part)).raw
end

local function page(count)
  if reverse then return call('ZREVRANGEBYLEX', order, high, low, 'LIMIT', 0, count) end
  return call('ZRANGEBYLEX', order, low, high, 'LIMIT', 0, count)
end

-- Keys and rows are read in one script, so a page is consistent. Between two pages others may write.
while true do
  local count = math.min(limit - #out + 1, 500)
  local members = page(count)
  local keys, index_members = {}, {}
  for i, member in ipairs(members) do
    local cut = index > 0 and find(member, '\254', 1, true)
    index_members[i] = cut and sub(member, 1, cut - 1)
    keys[i] = t.rows .. (cut and sub(member, cut + 1) or member)
  end
  local rows = #keys > 0 and call('MGET', unpack(keys)) or {}
  for i, row in ipairs(rows) do
    if not row or (index_members[i] and not belongs(row, index_members[i])) then
      -- Whoever meets the members of a row that the server expired removes them, so that they do not pile up.
      call('ZREM', order, members[i])
      if not row then call('ZREM', t.expiry, sub(keys[i], #t.rows + 1)) end
    else
      local expires = string.match(row, '^([^;]*);', t.start)
      -- A row with a wrong checksum is returned even if it has expired, so that the client reports the damage.
      if expires == '' or expires > now or not is_whole(row) then
        local part = cells == 'none' and expires .. ';' .. sub(keys[i], #t.rows + 1) or shortened(row)
        out[#out + 1] = part
        room = room - #part
      end
    end
    -- The limit in bytes keeps replies small: the server is busy with nothing else while it builds one.
    if #out > limit or room <= 0 then
      out[1] = members[i]
      return out
    end
  end
  if #members < count then return out end
  if reverse then high = '(' .. members[#members] else low = '(' .. members[#members] end
end
