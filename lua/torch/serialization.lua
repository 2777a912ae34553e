-- .t7 files: torch.save and torch.load, to and from files, strings and storages. They are functions of core, which calls the
-- functions of torch.records for objects of classes.
local core = require 'torch.core'
local records = require 'torch.records'

-- Loaded tables and the keys that they had in the file, in order; and the metatable of a list with keys that are objects. A list
-- that kept these objects would keep the table that they lead back to.
local orders, weak = setmetatable({}, { __mode = 'k' }), { __mode = 'v' }

core.setrecords(records.loading, records.saving, records.own_ways, orders, weak)

-- `readBool` and `writeBool` of a file: Torch7 has booleans as ints.
function core.t7methods.readBool(file)
  return file:readInt() == 1
end

function core.t7methods.writeBool(file, value)
  return file:writeInt(value and 1 or 0)
end

return {
  functions = {
    load = core.load,
    loadobj = core.load,
    save = core.save,
    saveobj = core.save,
    serialize = core.serialize,
    deserialize = core.deserialize,
    serializeToStorage = core.serializeToStorage,
    deserializeFromStorage = core.deserializeFromStorage,
  },
}
