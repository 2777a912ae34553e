-- torch.save, torch.load and similar functions for .t7 files, strings and storages. torch.core has these functions. It
-- calls the functions of torch.records for objects of classes.
local core = require 'torch.core'
local records = require 'torch.records'

-- `orders` has, for each loaded table, the list of its keys in the order of the file. `weak` is the metatable of lists
-- with keys that are objects. Without it, a key that refers to its own table would keep that table alive.
local orders, weak = setmetatable({}, { __mode = 'k' }), { __mode = 'v' }

core.setrecords(records.load_record, records.save_record, records.overridden, orders, weak)

-- `readBool` and `writeBool` of a file. Torch7 writes a boolean as an int.
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
