-- What the Lua files of this directory need, and what differs from Lua to Lua, under one name. LuaJIT counts as Lua 5.1.
local host = {}

-- Before Lua 5.2, `unpack` is a global function.
host.unpack = table.unpack or rawget(_G, 'unpack')

-- Since Lua 5.2, math.log takes the base, and math.log10 may be missing.
host.log10 = math.log10 or function(x)
  return math.log(x, 10)
end

-- The length of a table without the metamethod __len, which Lua 5.1 does not call for tables.
host.rawlen = rawget(_G, 'rawlen') or function(t)
  return #t
end

-- Whether numbers can be integers of 64 bits, since Lua 5.3.
host.has_integers = math.type ~= nil

return host
