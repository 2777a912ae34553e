-- Writes the files of t7dump --export: every storage and tensor, for NumPy or as bare elements.
local torch = require 'torch.storage'
local text = require 't7dump.text'
local values = require 't7dump.values'

local LONGEST_NAME = 150
local CHUNK = 2 ^ 16 -- elements written at once

-- A file name made of the path of an item, or of the end of a long path. No two names differ only in upper and lower case.
local function name_of(item, root_name, taken)
  local name, parent = item.part or root_name, item.parent
  while parent and parent.part and #name < LONGEST_NAME do
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

-- The header of a .npy file of version 1.0, padded so that the elements begin at a multiple of 64 bytes.
local function npy_header(descr, shape)
  local sizes = {}
  for n, size in ipairs(shape) do
    sizes[n] = text.exact(size)
  end
  local tuple = table.concat(sizes, ', ') .. (#sizes == 1 and ',' or '')
  local header = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"):format(descr, tuple)
  header = header .. (' '):rep(-(#header + 11) % 64) .. '\n'
  if #header > 65535 then
    error(('a tensor of %d dimensions does not fit into the header of a .npy file'):format(#shape), 0)
  end
  return '\147NUMPY\1\0' .. string.char(#header % 256, math.floor(#header / 256)) .. header
end

local BIG_ENDIAN = torch.ShortStorage({ 1 }):string():byte() == 0

local function write_file(name, header, storage)
  local file, problem = io.open(name, 'wb')
  local good = file and file:write(header)
  for first_one = 1, file and #storage or 0, CHUNK do
    local part = storage:sub(first_one, first_one + CHUNK - 1)
    if BIG_ENDIAN then
      part = part:clone():byteswap()
    end
    if not good then
      break
    end
    good, problem = file:write(part:string())
  end
  if good then
    good, problem = file:close()
  end
  if not good then
    problem = tostring(problem)
    error('cannot write ' .. (problem:find(name, 1, true) and '' or name .. ': ') .. problem, 0)
  end
end

-- The elements of a tensor in row-major order: a view of its storage if they already lie in that order, otherwise a copy.
local function elements(value)
  local tensor, count, _, gapless = values.shape_of(value), values.extent(value)
  if count <= 0 then
    local kind = (tensor.class:match '^torch%.(%a+)Tensor$' or ''):gsub('^Cuda', '')
    return (torch[kind .. 'Storage'] or torch.FloatStorage)()
  end
  local last = tensor.offset + count - 1
  if gapless and last <= #tensor.storage then
    return tensor.storage:sub(tensor.offset, last)
  end
  return torch.isTensor(value) and value:contiguous():storage() or torch.contiguous(tensor)
end

-- Writes all storages and tensors below `root`. `found` is the result of values.survey(root). Returns the numbers of files
-- and bytes.
return function(root, options, found)
  -- If the folder cannot be made, writing the first file fails and says so.
  os.execute("mkdir -p -- '" .. options.folder:gsub("'", "'\\''") .. "' 2>/dev/null")
  local root_name = options.file:match '([^/]*)$':gsub('%.t7$', '')
  local done, taken, files, bytes = {}, {}, 0, 0
  values.walk(root, function(item)
    local value, kind = item.value, values.kind_of(item.value)
    if not kind or done[value] then
      return false
    end
    done[value] = true
    local storage, shape
    if kind == 'storage' and (found.bare[value] or not found.covered[value]) then
      storage, shape = value, { #value }
    elseif kind == 'tensor' then
      storage = elements(value)
      shape = #storage > 0 and values.shape_of(value).size or { 0 }
    end
    if storage then
      local header = options.format == 'npy' and npy_header(text.ELEMENTS[torch.typename(storage)].descr, shape) or ''
      local name = name_of(item, root_name, taken) .. '.' .. options.format
      write_file(options.folder .. '/' .. name, header, storage)
      files, bytes = files + 1, bytes + storage:nbytes()
    end
    return true
  end)
  return files, bytes
end
