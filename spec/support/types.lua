-- The element types that the library has, for specs that test all of them. The lists are read from the library.
local core = require 'torch.core'

local types = {
  ALL = {}, -- every type, in the library's order
  TORCH7 = {}, -- the types of Torch7; all of them keep whole numbers below 128
  ADDED = {}, -- numbers and booleans that Torch7 does not have
  NUMBERS = {}, -- both of these: every type whose elements are Lua numbers
  COMPLEX = {},
  ENTRY = {}, -- the entry of each type in the library's list
  WIDTH = {}, -- the bytes of an element of each type
}

for _, entry in ipairs(core.classes) do
  local T = entry.element
  table.insert(types.ALL, T)
  types.ENTRY[T], types.WIDTH[T] = entry, entry.width
  if entry.kind == 'complex' then
    table.insert(types.COMPLEX, T)
  elseif entry.kind ~= 'untyped' then
    table.insert(types.NUMBERS, T)
    table.insert(entry.in_torch7 and types.TORCH7 or types.ADDED, T)
  end
end

return types
