-- What the Lua files of this directory need and the versions of Lua do differently. LuaJIT counts as Lua 5.1.
local versions = {}

-- Before Lua 5.2, `unpack` is a global function.
versions.unpack = table.unpack or rawget(_G, 'unpack')

-- Since Lua 5.2, math.log takes the base, and math.log10 may be missing.
versions.log10 = math.log10 or function(x)
  return math.log(x, 10)
end

-- The length of a table without the metamethod __len, which Lua 5.1 does not call for tables.
versions.rawlen = rawget(_G, 'rawlen') or function(t)
  return #t
end

-- The table of global variables. On Lua 5.1 every coroutine may have its own.
local getfenv = rawget(_G, 'getfenv')
function versions.globals()
  return getfenv and getfenv(0) or _G
end

-- The level with which `return error(message, level)` raises an error at the position of the function's caller. On LuaJIT this
-- call takes the place of the function, which is not in the traceback then.
local _, message = pcall(function()
  return error 'here'
end)
versions.caller_level = message == 'here' and 1 or 2

-- Whether numbers can be integers of 64 bits, since Lua 5.3.
versions.has_integers = math.type ~= nil

-- The text of a whole number. Lua 5.1 on Windows writes only 32 bits of it with %d.
local string_format = string.format
local whole = string_format('%d', 2 ^ 40) == '1099511627776' and '%d' or '%.0f'
function versions.whole(number)
  return string_format(whole, number)
end

return versions
