-- New classes for the specs. A class name can be registered only once per process, so each class gets a fresh name.
local torch = require 'torch'

local classes = {}

local count = 0
function classes.fresh(name)
  count = count + 1
  return ('%s%d'):format(name or 'Spec', count) .. tostring({}):match '%x+$'
end

-- Makes a class in a table of its own. Returns its metatable, its constructor, its name and the metatable of the parent.
function classes.define(parent)
  local module, name = {}, classes.fresh()
  local metatable, parents = torch.class(name, parent, module)
  return metatable, module[name], name, parents
end

return classes
