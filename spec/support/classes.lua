-- Classes for the specs. A class name is for ever, so each has its own.
local torch = require 'torch'

local classes = {}

local count = 0
function classes.fresh(name)
  count = count + 1
  return ('%s%d'):format(name or 'Spec', count) .. tostring({}):match '%x+$'
end

-- A new class, in a table of its own: metatable, constructor, name, the parent's metatable.
function classes.define(parent)
  local module, name = {}, classes.fresh()
  local metatable, parents = torch.class(name, parent, module)
  return metatable, module[name], name, parents
end

return classes
