-- torch.safetensors, torch.npy and torch.npz: the files of other programs. torch.core has their functions if it was built with
-- the cargo feature `formats`, which is on by default. Without it, the functions raise an error.
local core = require 'torch.core'
local readable = require 'torch.readable'

local NAMES = { safetensors = { 'load', 'open', 'save' }, npy = { 'load', 'save' }, npz = { 'load', 'save' } }
local MISSING = 'torch.%s.%s is not in this build of torch.core: build it with the cargo feature `formats`'

local tables = {}
for format, names in pairs(NAMES) do
  tables[format] = readable('torch.' .. format)(core[format] or {})
  for _, name in ipairs(core[format] and {} or names) do
    tables[format][name] = function()
      error(MISSING:format(format, name), 2)
    end
  end
end
return tables
