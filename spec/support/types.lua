-- The element types that the library has, for specs that go through all of them. A new type is in these lists by itself.
local core = require 'torch.core'

local types = {
  ALL = {}, -- every type, in the library's order
  TORCH7 = {}, -- the types of Torch7; all of them keep whole numbers below 128
  ADDED = {}, -- numbers and booleans that Torch7 does not have
  NUMBERS = {}, -- both of these: every type whose elements are Lua numbers
  COMPLEX = {},
  WIDTH = {}, -- the bytes of an element of each type
}

local function add(class)
  local T = class.name:match '^torch%.(.+)Storage$'
  table.insert(types.ALL, T)
  types.WIDTH[T] = class.constructor():elementSize()
  if class.ctype:find '^complex ' then
    table.insert(types.COMPLEX, T)
  elseif T ~= 'Untyped' then
    table.insert(types.NUMBERS, T)
    table.insert(class.in_torch7 and types.TORCH7 or types.ADDED, T)
  end
end

for _, class in ipairs(core.classes) do
  add(class)
end

return types
