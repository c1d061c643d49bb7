-- Records that a version with so many indexes uses a table; the number only grows. Queues every existing row to be added to
-- the new indexes; from now on older versions queue what they write. Returns 1 if the number was new, else 0.
-- Both are one step: a row written in between by an older version would neither be copied to the queue nor put there.
-- ARGV: table (six parts), how many.
local t = table_of(ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
local known = call('HGET', base .. '#indexes', t.name)
if known and tonumber(known) >= tonumber(ARGV[7]) then return 0 end
call('HSET', base .. '#indexes', t.name, ARGV[7])
call('ZUNIONSTORE', t.waiting, 2, t.waiting, t.order)
return 1
