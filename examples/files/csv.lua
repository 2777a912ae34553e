-- Writes a tensor or a storage as CSV: the last dimension is a line, and one dimension alone is a column.
local torch = require 'torch.storage'
local arguments = require 'files.arguments'
local text = require 'files.text'
local values = require 'files.values'

local AT_ONCE = 2 ^ 16 -- bytes that are collected before they are written

return function(value)
  local shape = torch.isStorage(value) and { size = { #value }, stride = { 1 }, offset = 1, storage = value }
    or values.shape_of(value)
  local count = torch.isStorage(value) and #value or values.extent(value)
  local columns = #shape.size > 1 and shape.size[#shape.size] or 1
  if count == 0 then
    return
  end
  local show, next_index = text.shower(shape.storage), values.indices(shape)
  local parts, bytes = {}, 0
  for n = 1, count do
    local shown = show(next_index())
    parts[#parts + 1] = shown
    parts[#parts + 1] = n % columns == 0 and '\n' or ','
    bytes = bytes + #shown + 1
    if bytes >= AT_ONCE or n == count then
      local written, problem = io.write(table.concat(parts))
      if not written then
        arguments.fail('cannot write the output: %s', problem)
      end
      parts, bytes = {}, 0
    end
  end
end
