-- Opens a file in any of four formats: .t7, safetensors, npy and npz. The first bytes say which. The elements are mapped.
local torch = require 'torch.storage'
local arguments = require 'files.arguments'
local text = require 'files.text'
local values = require 'files.values'

-- The formats by the ends of file names.
local ENDS = {
  { '%.t7$', 't7' },
  { '%.safetensors$', 'safetensors' },
  { '%.safetensors%.index%.json$', 'index' },
  { '%.npy$', 'npy' },
  { '%.npz$', 'npz' },
}

-- Returns the format that the end of a file's name says, if any, and the name without its folder and that end.
local function format_by_name(path)
  local name = path:match '([^/]*)$'
  for _, entry in ipairs(ENDS) do
    if name:find(entry[1]) then
      return entry[2], (name:gsub(entry[1], ''))
    end
  end
  return nil, name
end

-- Returns the format that the first bytes of a file say, if any.
local function format_by_contents(first)
  if first:find '^\147NUMPY' then
    return 'npy'
  elseif first:find '^PK[\3\5]' then
    return 'npz'
  elseif first:find '^%s*{' and not first:find('\0', 1, true) then
    return 'index'
  elseif first:sub(5, 8) == '\0\0\0\0' and first:find('^[{ ]', 9) and first:sub(1, 4) ~= '\1\0\0\0' then
    return 'safetensors' -- 8 bytes for the length of the header, which is more than 1, and the header
  end
  -- A .t7 file begins with the number of a type: as text, or in 4 bytes of either order.
  local a, b, c, d = first:byte(1, 4)
  local is_number = d and b == 0 and c == 0 and (a == 0 or d == 0) and a + d <= 8
  if is_number or first:find '^[0-8]\n' then
    return 't7'
  end
end

-- The title of a file with a table of tensors, or with one.
local function title(format, root)
  local count, bytes = 0, 0
  for _, array in pairs(type(root) == 'table' and root or { root }) do
    count, bytes = count + 1, bytes + array:nbytes()
  end
  return ('%s, %s, %s'):format(format, text.counted(count, 'tensor'), text.counted(bytes, 'byte'))
end

-- Each of these opens a file of one format, and returns what is in it. The second argument is the name of a dtype or nil.
local open = {}

function open.t7(path)
  local root, info = torch.load(path, { mmap = true, info = true })
  local mode = info.mode
  if info.longsize then
    mode = ('%s, %d-byte longs, %s endian'):format(mode, info.longsize, info.byteorder)
  end
  return { root = root, title = 't7, ' .. mode, storages = true }
end

function open.safetensors(path)
  local file, root, in_file = torch.safetensors.open(path), {}, {}
  for _, name in ipairs(file:keys()) do
    root[name], in_file[name] = file:get(name), file:info(name)
  end
  return { root = root, in_file = in_file, metadata = file:metadata(), title = title('safetensors', root) }
end

function open.index(path)
  local contents = open.safetensors(path)
  contents.title = title('index of safetensors files', contents.root)
  return contents
end

function open.npy(path, dtype)
  local array = torch.npy.load(path, { dtype = dtype })
  return { root = array, title = title('npy', array) }
end

function open.npz(path, dtype)
  local arrays = torch.npz.load(path, { dtype = dtype })
  return { root = arrays, title = title('npz', arrays) }
end

local read = { format_by_name = format_by_name }

-- Opens a file. `dtype` is the dtype of elements for which an npy file has none, or nil. Returns a table:
--
--   format    't7', 'safetensors', 'index' (of several safetensors files), 'npy' or 'npz'
--   path      the name of the file
--   title     what the first line of a listing says about it
--   root      what is in it: any value of a .t7 file, the tensor of an npy file, or a table from names to tensors
--   name      the name of the root: that of the file without its end
--   metadata  the metadata of a safetensors file
--   in_file   for each tensor of a safetensors file its dtype and shape there
--   storages  whether it knows storages as values of their own
function read.open(path, dtype)
  local file, problem = io.open(path, 'rb')
  local first
  if file then
    first, problem = file:read(16) -- nil without a problem if the file is empty
    file:close()
  end
  if problem then
    arguments.fail('cannot read %s', problem:find(path, 1, true) and problem or path .. ': ' .. problem)
  end
  local by_name, name = format_by_name(path)
  local format = format_by_contents(first or '') or by_name
  if not format then
    arguments.fail('%s is not a .t7, safetensors, npy or npz file', path)
  end
  local contents = open[format](path, dtype)
  contents.format, contents.path, contents.name = format, path, name
  return contents
end

-- Returns the tensor or storage with this path.
function read.array(contents, path)
  local found
  values.walk(contents, function(item)
    local kind, here = values.kind_of(item.value), values.path_of(item, #path)
    if here == path and (kind == 'tensor' or kind == 'storage') then
      if found and found ~= item.value then
        arguments.fail('%s has two tensors or storages with the path %s', contents.path, text.plain(path))
      end
      found = item.value
    end
    -- Only a value whose path is a beginning of this one can have it below.
    return kind and (not item.parent or here and path:sub(1, #here + 1) == here .. '.')
  end)
  return found or arguments.fail('%s has no tensor or storage with the path %s', contents.path, text.plain(path))
end

return read
