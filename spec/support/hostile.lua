-- Hostile input for child processes, used by specs of misuse: values of every kind that Lua has, and operations on them.
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local it = require('busted').it

local hostile = {}

-- `values` makes the values. `calm(f, ...)` calls f and accepts any results, and errors that are strings. `syntax` applies all
-- the syntax of Lua to a value. `sane` checks that storages still work.
local PRELUDE = [[
  local torch = require 'torch'
  local has_ffi, ffi = pcall(require, 'ffi')
  local types = require 'spec.support.types'
  local TYPES = types.TORCH7
  local metatables = {}
  for i, T in ipairs(TYPES) do metatables[i] = torch.getmetatable('torch.' .. T .. 'Storage') end
  local function new(T) return torch[T .. 'Storage'] { 1, 2, 3 } end
  -- The complex classes come last: their elements are not numbers.
  local EVERY, all_metatables = { unpack(TYPES) }, { unpack(metatables) }
  for _, T in ipairs(types.COMPLEX) do
    EVERY[#EVERY + 1], all_metatables[#all_metatables + 1] = T, torch.getmetatable('torch.' .. T .. 'Storage')
  end

  -- A light userdata. Plain Lua code cannot make one.
  local light = has_ffi and debug.upvalueid(function() return has_ffi end, 1) or torch.IntStorage(1):data()
  assert(type(light) == 'userdata')

  -- The userdata inside the functions of the library, which LuaJIT's debug library can reach.
  local insides = {}
  for i = 1, 3 do
    local _, value = debug.getupvalue(metatables[4].fill, i)
    if type(value) == 'userdata' then insides[#insides + 1] = value end
  end

  local function values()
    local dead = torch.IntStorage(2)
    dead:free()
    local list = {
      0, 1, -1, 2.5, 3, 2 ^ 16, 2 ^ 53, 1e300, 1 / 0, 0 / 0, '', '1', 'x', '/nonexistent/%s%n', ('\0'):rep(16), 'torch.FloatStorage',
      true, false, {}, { 1, 2, 3 }, { 'x' }, { 1, 2 }, { re = 1, im = 2 }, setmetatable({}, metatables[4]), setmetatable({ 1 }, { __index = metatables[4] }),
      print, function() end, coroutine.create(function() end), io.stdout, newproxy(), newproxy(true), light,
      torch, torch.IntStorage, metatables[4], metatables[8], dead,
    }
    for _, inside in ipairs(insides) do list[#list + 1] = inside end
    for _, list_of in ipairs { types.NUMBERS, types.COMPLEX } do
      for _, T in ipairs(list_of) do list[#list + 1] = new(T) end
    end
    if has_ffi then
      for _, value in ipairs {
        ffi.new('int[4]'), ffi.new('struct { int x; }'), ffi.cast('void *', 8), ffi.cast('int64_t', 3), ffi.cast('uint64_t', -1),
        ffi.new('int *'), ffi.typeof('int'), ffi.new('complex', 1, 2), ffi.new('complex float', 1, 2), ffi.typeof('complex'), ffi.new('int32_t', 2), ffi.C, ffi.cast('void (*)(void)', 0),
      } do list[#list + 1] = value end
    end
    list.n = #list + 1 -- the last value is nil
    return list
  end

  local calls = 0
  local function calm(f, ...)
    calls = calls + 1
    local ok, message = pcall(f, ...)
    if not ok then
      if type(message) ~= 'string' then error('an error that is a ' .. type(message), 2) end
      if message:find('internal error', 1, true) then error(message, 2) end
    end
    return ok, message
  end
  -- The call has to fail.
  local function refused(f, ...)
    local ok, message = calm(f, ...)
    if ok then error('an error was expected', 2) end
    return message
  end

  -- Applies all the syntax of Lua to a value.
  local function syntax(v, other)
    calm(function() return v[1] end)
    calm(function() return v[99] end)
    calm(function() return v.size end)
    calm(function() return v[v] end)
    calm(function() v[1] = 2 end)
    calm(function() v[1] = v end)
    calm(function() v.x = 2 end)
    calm(function() return #v end)
    calm(function() return v + 1, v .. 'x' end)
    calm(function() return v == other end)
    calm(function() return v < other end)
    calm(function() return v() end)
    calm(tostring, v)
    for _, name in ipairs { 'size', 'fill', 'copy', 'resize', 'totable', 'free', 'retain', 'clone', 'string', 'data', 'cdata', 'iter' } do
      calm(function() return v[name](v, other) end)
      calm(function() return other[name](other, v) end)
    end
  end

  -- Checks that storages work as before.
  local function sane()
    for _, T in ipairs(TYPES) do
      local s = new(T)
      s[2] = 7
      assert(#s == 3 and s[2] == 7 and s:clone():equal(s) and torch.typename(s) == 'torch.' .. T .. 'Storage')
    end
    local z = torch.ComplexFloatStorage { 1, { 2, -3 } }
    assert(#z == 2 and z[2].im == -3 and z:clone():equal(z) and z[1].re == 1)
    collectgarbage()
    collectgarbage()
    print 'sane'
  end
]]

-- Runs the source in a child process. The result is 'sane' if the source ran to its end.
function hostile.run(source, access)
  local first = ("require('torch').accessors '%s'\n"):format(access)
  local output, status = support.run(first .. PRELUDE .. source .. '\nsane()')
  return status == 0 and output or ('%s\n(exit status %d)'):format(output, status)
end

-- Makes a test for each way to access elements: the source has to run to its end in a child process.
function hostile.test(title, source)
  for _, mode in ipairs(accessors.MODES) do
    it(title .. ', access by ' .. mode, function()
      local result = hostile.run(source, mode)
      if result ~= 'sane' then
        error(result, 0)
      end
    end)
  end
end

return hostile
