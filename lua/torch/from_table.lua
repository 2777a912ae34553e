-- Reads the numbers of a large table for C, in a loop that LuaJIT compiles: the C API takes several times as long.
local core = require 'torch.core'

local has_ffi, ffi = pcall(require, 'ffi')
local jit = rawget(_G, 'jit')
if not has_ffi or not jit then
  return
end

-- C calls the function in the middle of an operation. It uses no global variables, because a program can replace those.
local type, rawget, cast, status = type, rawget, ffi.cast, jit.status
local doubles = ffi.typeof 'double *'

-- Writes the elements of `t` from `first` to `last` to an address, as long as they are numbers, and returns how many there were.
-- C keeps the memory until this returns, and gives the address to nobody else.
core.settablereader(function(t, first, last, address)
  if first == 1 and not status() then
    return 0
  end
  -- `numbers[i]` takes less time than `numbers[i - first]`.
  local numbers = cast(doubles, address) - first
  for i = first, last do
    local v = rawget(t, i)
    if type(v) ~= 'number' then
      return i - first
    end
    numbers[i] = v
  end
  return last - first + 1
end)
