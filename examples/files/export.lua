-- Writes every storage and tensor of a file to a file of its own: for NumPy, or the bare elements.
local torch = require 'torch.storage'
local arguments = require 'files.arguments'
local values = require 'files.values'

local LONGEST_NAME = 150
local CHUNK = 2 ^ 16 -- elements written at once

-- A file name made of the path of an item, or of the end of a long path. No two names differ only in upper and lower case.
local function name_of(item, taken)
  local name, parent = item.part, item.parent
  while parent and parent.parent and #name < LONGEST_NAME do
    name, parent = parent.part .. '.' .. name, parent.parent
  end
  name = name:sub(-LONGEST_NAME):gsub('[^%w_.-]', '_'):gsub('^%.', '_')
  name = name == '' and '_' or name
  local free, n = name, 1
  while taken[free:lower()] do
    n = n + 1
    free = name .. '-' .. n
  end
  taken[free:lower()] = true
  return free
end

local BIG_ENDIAN = torch.ShortStorage({ 1 }):string():byte() == 0

-- Writes the elements in row-major order and in little-endian byte order.
local function write_elements(path, array)
  local storage, first, count = array, 1, nil
  if torch.isTensor(array) then
    count = array:nElement()
    local whole = count > 0 and array:contiguous()
    storage, first = whole and whole:storage() or {}, whole and whole:storageOffset() or 1
  end
  local last = first + (count or #storage) - 1
  local file, problem = io.open(path, 'wb')
  local good = file
  for from = first, last, CHUNK do
    if not good then
      break
    end
    local part = storage:sub(from, math.min(from + CHUNK - 1, last))
    if BIG_ENDIAN then
      part = part:clone():byteswap()
    end
    good, problem = file:write(part:string())
  end
  if good then
    good, problem = file:close()
  end
  if not good then
    problem = tostring(problem)
    arguments.fail('cannot write %s', problem:find(path, 1, true) and problem or path .. ': ' .. problem)
  end
end

-- Writes all storages and tensors in `contents`, which read.open returned, to files of the format 'npy' or 'bin'. `found` is the
-- result of values.survey(contents). Returns the numbers of files and bytes.
return function(contents, folder, format, found)
  -- If the folder cannot be made, writing the first file fails and says so.
  os.execute("mkdir -p -- '" .. folder:gsub("'", "'\\''") .. "' 2>/dev/null")
  local done, taken, files, bytes = {}, {}, 0, 0
  values.walk(contents, function(item)
    local value, kind = item.value, values.kind_of(item.value)
    if not kind or done[value] then
      return false
    end
    done[value] = true
    if kind == 'tensor' or kind == 'storage' and (found.bare[value] or not found.covered[value]) then
      local array = values.array_of(value)
      local path = ('%s/%s.%s'):format(folder, name_of(item, taken), format)
      local write = format == 'npy' and torch.npy.save or write_elements
      write(path, array)
      files, bytes = files + 1, bytes + array:nbytes()
    end
    return true
  end)
  return files, bytes
end
