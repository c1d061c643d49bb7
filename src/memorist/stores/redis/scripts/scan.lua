-- Returns one page of live rows between two bounds, in order: { the member to continue from (or false), row, row, … }.
-- ARGV: table (six parts), index number (0: the key itself), low, high, reverse, limit, now, bytes per page, keys only.
-- With `keys only`, each row consists of its expiry and member, and its body is not sent.
local t = table_of(ARGV[1], ARGV[2], ARGV[3])
local index, low, high, reverse = tonumber(ARGV[7]), '[' .. ARGV[8], '(' .. ARGV[9], ARGV[10] == '1'
local limit, now, room, keys_only = tonumber(ARGV[11]), ARGV[12], tonumber(ARGV[13]), ARGV[14] == '1'
local order = index == 0 and t.order or t.order .. ':' .. index
local out = { false }

local function belongs(row, place)  -- false for a stale member of a row that the server expired and that was written again
  local n = 0
  for part in string.gmatch(parse(t, row).ix, '[^\255]+') do
    n = n + 1
    if n == index then return part == place end
  end
  return false
end

local function page(count)
  if reverse then return call('ZREVRANGEBYLEX', order, high, low, 'LIMIT', 0, count) end
  return call('ZRANGEBYLEX', order, low, high, 'LIMIT', 0, count)
end

while true do
  local wanted = math.min(limit - #out + 1, 500)
  local members = page(wanted)
  local keys, places = {}, {}
  for i, member in ipairs(members) do
    local cut = index > 0 and find(member, '\254', 1, true)
    places[i] = cut and sub(member, 1, cut - 1)
    keys[i] = t.rows .. (cut and sub(member, cut + 1) or member)
  end
  local rows = #keys > 0 and call('MGET', unpack(keys)) or {}
  for i, row in ipairs(rows) do
    if not row or (places[i] and not belongs(row, places[i])) then
      call('ZREM', order, members[i])
      if not row then call('ZREM', t.expiry, places[i] and sub(members[i], #places[i] + 2) or members[i]) end
    else
      local expires = string.match(row, '^([^;]*);', t.start)
      -- A row with a wrong checksum is returned even if it has expired, so that the client reports the damage.
      if expires == '' or expires > now or (t.checked and sub(redis.sha1hex(sub(row, 10)), 1, 8) ~= sub(row, 2, 9)) then
        local part = keys_only and expires .. ';' .. sub(keys[i], #t.rows + 1) or row
        out[#out + 1] = part
        room = room - #part
      end
    end
    if #out > limit or room <= 0 then
      out[1] = members[i]
      return out
    end
  end
  if #members < wanted then return out end
  if reverse then high = '(' .. members[#members] else low = '(' .. members[#members] end
end
