-- Safetensors, npy and npz files, for specs: those that other programs wrote, and bytes of new ones, made by hand.
local torch = require 'torch'
local support = require 'spec.support'

local formats = { FOLDER = 'tests/data/formats/' }

-- The rows of a table of tab-separated values, without its comments.
local function rows(name)
  local list = {}
  for line in support.slurp(name):gmatch '[^\n]+' do
    if line:sub(1, 1) ~= '#' then
      local row = {}
      for field in (line .. '\t'):gmatch '([^\t]*)\t' do
        row[#row + 1] = field
      end
      list[#list + 1] = row
    end
  end
  return list
end

-- The arrays of the files of other programs: { file =, dtype = what `load` must be told, name =, class =, sizes =, hex = }.
function formats.arrays()
  local list = {}
  for _, row in ipairs(rows(formats.FOLDER .. 'arrays.tsv')) do
    local sizes = {}
    for size in row[5]:gmatch '%d+' do
      sizes[#sizes + 1] = tonumber(size)
    end
    list[#list + 1] = { file = row[1], dtype = row[2], name = row[3], class = row[4], sizes = sizes, hex = row[6] }
  end
  return list
end

-- The hostile files: { path =, says = a part of the error }.
function formats.hostile()
  local list = {}
  for _, row in ipairs(rows(formats.FOLDER .. 'hostile/says.tsv')) do
    list[#list + 1] = { path = formats.FOLDER .. 'hostile/' .. row[1], says = row[2] }
  end
  return list
end

-- The bytes of a tensor's elements in C order, as hexadecimal digits.
function formats.hex(x)
  local s = x:clone():storage()
  local bytes = torch.ByteStorage(s:nbytes())
  bytes:rawcopy(s)
  return (bytes:string():gsub('.', function(byte)
    return ('%02x'):format(byte:byte())
  end))
end

-- The sizes of a tensor, as text: '2x3'.
function formats.sizes(x)
  return table.concat(x:size():totable(), 'x')
end

-- A number as `width` bytes, the lowest first.
function formats.number(value, width)
  local bytes = {}
  for i = 1, width do
    bytes[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(bytes)
end
local number = formats.number

-- A text as a JSON string.
local function json(text)
  return '"' .. text:gsub('["\\%c]', function(character)
    return ('\\u%04x'):format(character:byte())
  end) .. '"'
end

-- A safetensors file: tensors = { { name =, dtype =, shape =, data = a string }, ... }. `pad` is a number of spaces after the
-- header, so that it decides where the elements begin.
function formats.safetensors(tensors, metadata, pad)
  local entries, data, at = {}, {}, 0
  if metadata then
    local texts = {}
    for name, text in pairs(metadata) do
      texts[#texts + 1] = json(name) .. ':' .. json(text)
    end
    entries[1] = '"__metadata__":{' .. table.concat(texts, ',') .. '}'
  end
  for _, tensor in ipairs(tensors) do
    local shape, stop = support.joined(tensor.shape, ','), at + #tensor.data
    local entry = '%s:{"dtype":"%s","shape":[%s],"data_offsets":[%.0f,%.0f]}'
    entries[#entries + 1] = entry:format(json(tensor.name), tensor.dtype, shape, at, stop)
    data[#data + 1] = tensor.data
    at = stop
  end
  local header = '{' .. table.concat(entries, ',') .. '}' .. (' '):rep(pad or 0)
  return number(#header, 8) .. header .. table.concat(data)
end

-- An npy file. The header is padded so that the elements begin at a multiple of 64, and at `pad` bytes more.
function formats.npy(descr, shape, data, fortran, pad)
  local sizes = support.joined(shape, ', ') .. (#shape == 1 and ',' or '')
  local header = ("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }"):format(
    descr,
    fortran and 'True' or 'False',
    sizes
  )
  header = header .. (' '):rep(-(#header + 11) % 64 + (pad or 0)) .. '\n'
  return '\147NUMPY\1\0' .. number(#header, 2) .. header .. data
end

-- The exclusive or of two numbers of 32 bits. Lua 5.1 has no operator for it.
local function xor(a, b)
  local result, bit = 0, 1
  while a > 0 or b > 0 do
    if a % 2 ~= b % 2 then
      result = result + bit
    end
    a, b, bit = math.floor(a / 2), math.floor(b / 2), bit * 2
  end
  return result
end

local remainders
local function crc32(bytes)
  if not remainders then
    remainders = {}
    for byte = 0, 255 do
      local remainder = byte
      for _ = 1, 8 do
        local half = math.floor(remainder / 2)
        remainder = remainder % 2 == 1 and xor(half, 0xEDB88320) or half
      end
      remainders[byte] = remainder
    end
  end
  local sum = 0xFFFFFFFF
  for i = 1, #bytes do
    sum = xor(math.floor(sum / 256), remainders[xor(sum % 256, bytes:byte(i))])
  end
  return 0xFFFFFFFF - sum
end

-- An npz file: entries = { { name = with .npy, data = a string, checksum = that of the data by default }, ... }.
function formats.npz(entries)
  local front, directory, at = {}, {}, 0
  for _, entry in ipairs(entries) do
    local sum = number(entry.checksum or crc32(entry.data), 4)
    local size = number(#entry.data, 4)
    local shared = '\20\0\0\8\0\0\0\0\33\0' .. sum .. size .. size .. number(#entry.name, 2) .. '\0\0'
    local record = 'PK\3\4' .. shared .. entry.name .. entry.data
    front[#front + 1] = record
    directory[#directory + 1] = 'PK\1\2\20\0' .. shared .. ('\0'):rep(10) .. number(at, 4) .. entry.name
    at = at + #record
  end
  local list, count = table.concat(directory), number(#entries, 2)
  return table.concat(front)
    .. list
    .. 'PK\5\6\0\0\0\0'
    .. count
    .. count
    .. number(#list, 4)
    .. number(at, 4)
    .. '\0\0'
end

return formats
