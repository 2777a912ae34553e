-- Files written by torch.save are read by an independent reader: Python's torchfile, with NumPy.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'

-- The same environment that `make bench-numpy` uses.
local PYTHON = 'target/numpy/bin/python'

-- Prints the contents of a file as text: keys sorted, objects numbered where they first appear. `text` below does the same.
local READER = [=[
import sys
import numpy
import torchfile

def text(value, seen):
    if value is None:
        return 'nil'
    if value is True or value is False:
        return 'b:true' if value else 'b:false'
    if isinstance(value, (int, float)):
        return 'n:nan' if value != value else 'n:%.17g' % value
    if isinstance(value, bytes):
        return 's:' + value.hex()
    if id(value) in seen:
        return '#%d' % seen[id(value)]
    seen[id(value)] = number = len(seen) + 1
    if isinstance(value, numpy.ndarray):
        elements = ' '.join(text(v, seen)[2:] for v in value.ravel().tolist())
        return '%d:%s[%s]{%s}' % (number, value.dtype.name, 'x'.join(map(str, value.shape)), elements)
    if isinstance(value, torchfile.TorchObject):
        head = '%s V %d' % (value.torch_typename().decode(), value._version_number)
        return '%d:%s %s' % (number, head, text(value._obj, seen))
    if isinstance(value, torchfile.LuaFunction):
        return '%d:function %s %s' % (number, value.dumped.hex(), text(value.upvalues, seen))
    keys = sorted(value, key=lambda key: text(key, seen))
    return '%d:{%s}' % (number, ', '.join(text(key, seen) + '=' + text(value[key], seen) for key in keys))

for name in sys.argv[1:]:
    print(text(torchfile.load(name, use_list_heuristic=False, use_int_heuristic=False), {}))
]=]

local DTYPE = {
  Byte = 'uint8',
  Char = 'int8',
  Short = 'int16',
  Int = 'int32',
  Long = 'int64',
  Float = 'float32',
  Double = 'float64',
}

local function hex(bytes)
  return (bytes:gsub('.', function(c)
    return ('%02x'):format(c:byte())
  end))
end

local function elements(storage, size)
  local parts = {}
  for i, v in storage:iter() do
    parts[i] = v ~= v and 'nan' or ('%.17g'):format(v)
  end
  local dtype = DTYPE[torch.typename(storage):match '^torch%.(%a+)Storage$']
  return ('%s[%s]{%s}'):format(dtype, table.concat(size, 'x'), table.concat(parts, ' '))
end

local text

local function body(value, seen)
  if torch.isStorage(value) then
    return elements(value, { #value })
  elseif torch.isTensor(value) then
    local rows = value:contiguous()
    local first = rows:storageOffset()
    return elements(rows:storage():sub(first, first + rows:nElement() - 1), rows:size():totable())
  elseif torch.isRecord(value) then
    if value.size then
      return elements(torch.contiguous(value), value.size)
    elseif value.code then
      return ('function %s %s'):format(hex(value.code), text(value.upvalues, seen))
    elseif value.storage then
      return elements(value.storage, { #value.storage })
    end
    return ('%s V %d %s'):format(value.class, value.version, text(value.fields, seen))
  end
  local keys, names = {}, {}
  for key in pairs(value) do
    local name = text(key, seen)
    names[#names + 1], keys[name] = name, key
  end
  table.sort(names)
  for i, name in ipairs(names) do
    names[i] = name .. '=' .. text(value[keys[name]], seen)
  end
  return '{' .. table.concat(names, ', ') .. '}'
end

function text(value, seen)
  local kind = type(value)
  if kind == 'nil' then
    return 'nil'
  elseif kind == 'boolean' then
    return 'b:' .. tostring(value)
  elseif kind == 'number' then
    return value ~= value and 'n:nan' or ('n:%.17g'):format(value)
  elseif kind == 'string' then
    return 's:' .. hex(value)
  end
  local identity = torch.isStorage(value) and torch.pointer(value) or value
  if seen[identity] then
    return '#' .. seen[identity]
  end
  seen.count = (seen.count or 0) + 1
  seen[identity] = seen.count
  return ('%d:%s'):format(seen[identity], body(value, seen))
end

-- Installs the reader once in its own environment. Returns the reason if that fails.
local function missing()
  if support.sh 'command -v python3' == '' then
    return 'no python3'
  end
  local install = ([[
    test -x %s || timeout 100 python3 -m venv target/numpy
    timeout 30 %s -c 'import numpy, torchfile' || timeout 200 %s -m pip install --quiet numpy torchfile
    timeout 30 %s -c 'import numpy, torchfile; print("ready")'
  ]]):gsub('%%s', PYTHON)
  local output = support.sh(install)
  if not output:find 'ready$' then
    return 'torchfile could not be installed: ' .. (output:match '[^\n]*$' or '')
  end
end

describe('torchfile in Python #process', function()
  local folder, reason

  setup(function()
    reason = missing()
    folder = support.directory()
    support.spit(folder .. '/reader.py', READER)
  end)
  teardown(function()
    support.remove(folder)
  end)

  -- Saves each object to a file. The reader has to print the same as `text`.
  local function reads(objects)
    if reason then
      pending(reason)
    end
    local names, wanted = {}, {}
    for i, object in ipairs(objects) do
      names[i] = ('%s/%d.t7'):format(folder, i)
      torch.save(names[i], object)
      wanted[i] = text(object, {})
    end
    local read = support.sh(('%s %s/reader.py %s'):format(PYTHON, folder, table.concat(names, ' ')))
    assert.equal(table.concat(wanted, '\n'), read)
  end

  local function tensor(storage, size, stride, offset, class)
    if class then
      return torch.record { class = class, storage = storage, size = size, stride = stride, offset = offset or 1 }
    end
    local T = torch.typename(storage):match '^torch%.(%a+)Storage$'
    return torch[T .. 'Tensor'](storage, offset or 1, size, stride)
  end

  -- torchfile does not know Half.
  local all = {}
  for T in pairs(DTYPE) do
    all[#all + 1] = T
  end

  it('reads plain values', function()
    reads { true, false, 0, -0.0, 0.1, 1 / 0, -1 / 0, 0 / 0, 5e-324, '', 'x', '\0\n\255', ('long'):rep(1e4) }
  end)

  it('reads storages of all classes that it has', function()
    local objects = {}
    for _, T in ipairs(all) do
      local class = torch[T .. 'Storage']
      objects[#objects + 1] = class()
      objects[#objects + 1] = class { 1, 2, 100 }
      objects[#objects + 1] = class(1000):fill(7)
      local bytes = {}
      for i = 1, 32 do
        bytes[i] = string.char(i * 7 % 256)
      end
      if T ~= 'Long' then -- a Lua number cannot hold every long
        objects[#objects + 1] = class.fromstring(table.concat(bytes))
      end
    end
    objects[#objects + 1] = torch.LongStorage { -2 ^ 63, -1, 2 ^ 53, 2 ^ 62 }
    objects[#objects + 1] = torch.DoubleStorage { 0 / 0, 1 / 0, -1 / 0, -0.0, 5e-324, 1 / 3 }
    objects[#objects + 1] = torch.FloatStorage { 0 / 0, 1 / 0, 1e-40, 1 / 3 }
    reads(objects)
  end)

  it('reads tables: nested, shared, cyclic, with keys of any kind', function()
    local s, t = torch.IntStorage { 1, 2, 3 }, { 'shared' }
    local cyclic = { 1, 2 }
    cyclic.me, cyclic.inner = cyclic, { up = cyclic }
    local deep = {}
    for i = 1, 100 do
      deep = { deep, i }
    end
    local wide = {}
    for i = 1, 5000 do
      wide[i] = i * 0.5
    end
    reads {
      {},
      { 1, 2, 3, 'four', { 5 } },
      { [true] = 1, [false] = 2, [1.5] = 3, [-1] = 4, [''] = 5, x = 6 },
      { t, t, { t }, s, { s }, other = torch.IntStorage { 1, 2, 3 } },
      cyclic,
      deep,
      wide,
    }
  end)

  it('reads tensors with any strides that share storages', function()
    local objects = {}
    for _, T in ipairs(all) do
      local s = torch[T .. 'Storage'] { 1, 2, 3, 4, 5, 6 }
      objects[#objects + 1] = tensor(s, { 2, 3 }, { 3, 1 })
      objects[#objects + 1] = tensor(s, { 3, 2 }, { 1, 3 })
      objects[#objects + 1] = tensor(s, { 2 }, { 2 }, 2)
      objects[#objects + 1] = tensor(s, { 2, 2, 2 }, { 0, 1, 2 }, 3)
      objects[#objects + 1] = { a = tensor(s, { 6 }, { 1 }), b = tensor(s, { 3 }, { 2 }), s = s }
    end
    objects[#objects + 1] = tensor(torch.FloatStorage { 1, 2 }, { 2 }, { 1 }, 1, 'torch.CudaTensor')
    objects[#objects + 1] = tensor(torch.IntStorage { 1, 2 }, { 2 }, { 1 }, 1, 'torch.CudaIntTensor')
    objects[#objects + 1] =
      torch.record { class = 'torch.CudaStorage', version = 1, storage = torch.FloatStorage { 3 } }
    reads(objects)
  end)

  it('reads objects and functions', function()
    local weight = tensor(torch.FloatStorage { 1, 2, 3, 4 }, { 2, 2 }, { 2, 1 })
    local linear =
      torch.record { class = 'nn.Linear', version = 1, fields = { weight = weight, bias = weight:storage() } }
    reads {
      linear,
      torch.record { class = 'nn.Sequential', version = 2, fields = { modules = { linear, linear } } },
      torch.record { class = 'function', tag = 8, code = 'code\0', upvalues = { { name = 'x', value = 5 } } },
    }
  end)

  it('reads files that were loaded and saved again', function()
    if reason then
      pending(reason)
    end
    local objects = {}
    for name in support.sh('ls spec/support/golden/*.bin.t7'):gmatch '[^\n]+' do
      if
        not name:find 'all_storages'
        and not name:find 'long_size4'
        and not name:find 'tensor_empty'
        and not name:find 'half'
      then
        local object = torch.load(name)
        if object ~= nil then
          objects[#objects + 1] = object
        end
      end
    end
    assert.is_true(#objects > 25)
    reads(objects)
  end)
end)
