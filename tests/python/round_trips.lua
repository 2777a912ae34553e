-- The Lua side of round_trips.py: loads the files of a folder, compares all elements, and saves them in `out`.
local torch = require 'torch'
local folder = arg[1]

-- The bytes that hexadecimal digits stand for.
local function unhex(digits)
  return (digits:gsub('..', function(pair)
    return string.char(tonumber(pair, 16))
  end))
end

local function split(line)
  local fields = {}
  for field in (line .. '\t'):gmatch '([^\t]*)\t' do
    fields[#fields + 1] = field
  end
  return fields
end

-- The files of the manifest: { format =, name =, class =, arrays = { name = { class =, sizes =, bytes = } }, metadata = }.
local function read_manifest()
  local files = {}
  for line in io.lines(folder .. '/manifest.tsv') do
    local fields = split(line)
    local file = files[#files]
    if fields[1] == 'file' then
      local class = fields[4] ~= '' and ('torch.%sTensor'):format(fields[4]) or nil
      files[#files + 1] = { format = fields[2], name = fields[3], class = class, arrays = {}, metadata = {} }
    elseif fields[1] == 'array' then
      file.arrays[unhex(fields[2])] =
        { class = ('torch.%sTensor'):format(fields[3]), sizes = fields[4], bytes = unhex(fields[5]) }
    else
      file.metadata[unhex(fields[2])] = unhex(fields[3])
    end
  end
  return files
end

local function load_file(file, mmap)
  local path = folder .. '/' .. file.name
  if file.format == 'npy' then
    return { [''] = torch.npy.load(path, { dtype = file.class, mmap = mmap }) }, {}
  elseif file.format == 'npz' then
    return torch.npz.load(path, { dtype = file.class, mmap = mmap }), {}
  end
  return torch.safetensors.load(path, { mmap = mmap })
end

local function save_file(file, way, tensors, path)
  path = path or ('%s/out/%s-%s'):format(folder, way, file.name)
  if file.format == 'npy' then
    torch.npy.save(path, tensors[''])
  elseif file.format == 'npz' then
    torch.npz.save(path, tensors)
  else
    torch.safetensors.save(path, tensors, file.metadata)
  end
end

-- The number of arrays that are as the manifest says.
local function compare(file, tensors, metadata)
  local count = 0
  for name, array in pairs(file.arrays) do
    local x = assert(tensors[name], 'an array is missing')
    local where = ('%s, array %q: '):format(file.name, name)
    assert(torch.type(x) == array.class, where .. torch.type(x))
    local sizes = table.concat(x:size():totable(), ' ')
    assert(sizes == array.sizes, where .. sizes .. ' instead of ' .. array.sizes)
    assert(x:contiguous():string() == array.bytes, where .. 'the elements differ')
    count = count + 1
  end
  for name in pairs(tensors) do
    assert(file.arrays[name], name)
  end
  for name, text in pairs(file.metadata) do
    assert(metadata[name] == text, name)
  end
  for name in pairs(metadata) do
    assert(file.metadata[name], name)
  end
  return count
end

-- The same elements in another memory order.
local function other(x, number)
  local dimensions = x:nDimension()
  if dimensions == 0 then
    return x:clone()
  end
  local first, second = number % dimensions + 1, math.floor(number / 2) % dimensions + 1
  return x:transpose(first, second):clone():transpose(first, second)
end

local function map(tensors, change)
  local changed, number = {}, 0
  for name, x in pairs(tensors) do
    number = number + 1
    changed[name] = change(x, number)
  end
  return changed
end

local read = { npy = 0, npz = 0, safetensors = 0 }
for number, file in ipairs(read_manifest()) do
  for _, way in ipairs { 'mapped', 'copied' } do
    local tensors, metadata = load_file(file, way == 'mapped')
    read[file.format] = read[file.format] + compare(file, tensors, metadata)
    save_file(file, way, tensors)
    if way == 'copied' then
      save_file(file, 'other', map(tensors, other))
      save_file(
        file,
        'storages',
        map(tensors, function(x)
          return x:nElement() > 0 and x:clone():storage() or x:view(0)
        end)
      )
      if number % 3 == 2 and file.format ~= 'npy' then
        local pipe = ('%s/pipe-%d'):format(folder, number)
        local target = ('%s/out/pipe-%s'):format(folder, file.name)
        os.execute(("mkfifo '%s'; (cat '%s' >'%s.new'; mv '%s.new' '%s') &"):format(pipe, pipe, target, target, target))
        save_file(file, nil, tensors, pipe)
        os.execute(("until [ -e '%s' ]; do sleep 0.01; done"):format(target))
      end
    end
  end
end
for format, count in pairs(read) do
  print(('%d arrays of %s that Lua has read'):format(count, format))
end
