-- Measures access to elements of tensors that were loaded from files, next to those of a tensor in memory.
--
--   luajit bench/loaded.lua [section]     (read or write; without one, both)
--
-- For each class the first line is a tensor in memory next to a storage. Then each format: mapped, mapped where the elements are
-- not aligned for their type, and copied into memory. bench/measurement.lua says what the columns are.
local torch = require 'torch.storage'
local core = require 'torch.core'
local measurement = require 'bench.measurement'
local run_sections = require 'bench.sections'
local compile, measure, title = measurement.compile, measurement.measure, measurement.title

local SIZE = 10000

-- An element of a loaded tensor takes no longer than one in memory.
local GOAL = 1.1

local function slurp(name)
  local file = assert(io.open(name, 'rb'))
  local bytes = file:read '*a'
  file:close()
  return bytes
end

local function spit(name, bytes)
  local file = assert(io.open(name, 'wb'))
  assert(file:write(bytes))
  file:close()
end

-- A whole number as `width` bytes, the lowest first, and back.
local function bytes_of(number, width)
  local bytes = {}
  for i = 1, width do
    bytes[i] = string.char(math.floor(number / 256 ^ (i - 1)) % 256)
  end
  return table.concat(bytes)
end
local function number_of(bytes)
  local number = 0
  for i = #bytes, 1, -1 do
    number = number * 256 + bytes:byte(i)
  end
  return number
end

-- Makes the header of a file longer by `pad` spaces before its last `rest` bytes. Its length is in `width` bytes from byte `at`
-- on.
local function lengthen(name, pad, at, width, rest)
  local bytes = slurp(name)
  local length = number_of(bytes:sub(at, at + width - 1))
  local stop = at + width - 1 + length - rest
  spit(
    name,
    bytes:sub(1, at - 1)
      .. bytes_of(length + pad, width)
      .. bytes:sub(at + width, stop)
      .. (' '):rep(pad)
      .. bytes:sub(stop + 1)
  )
end

-- For each format: a function that writes a tensor with `pad` bytes more before its elements, and one that loads it.
local FORMATS = {
  {
    'npy',
    function(name, x, pad)
      torch.npy.save(name, x)
      lengthen(name, pad, 9, 2, 1)
    end,
    torch.npy.load,
  },
  {
    'npz',
    function(name, x, pad)
      torch.npz.save(name, { [('x'):rep(pad + 1)] = x })
    end,
    function(name, options)
      local _, x = next(torch.npz.load(name, options))
      return x
    end,
  },
  {
    'safetensors',
    function(name, x, pad)
      torch.safetensors.save(name, { x = x })
      lengthen(name, pad, 1, 8, 0)
    end,
    function(name, options)
      return torch.safetensors.load(name, { mmap = options.mmap }).x
    end,
  },
  {
    't7',
    function(name, x, pad)
      torch.save(name, { ('x'):rep(pad), x })
    end,
    function(name, options)
      return torch.load(name, { mmap = options.mmap })[2]
    end,
  },
}

-- Whether a format has a class.
local function has(format, entry)
  return format == 't7' and entry.in_torch7
    or format ~= 't7' and not (format == 'safetensors' and entry.element == 'ComplexDouble')
end

-- A tensor with the elements of `x` over a map of a file, in which they begin `offset` bytes behind a multiple of 16.
local function mapped(format, name, x, offset, options)
  for pad = 0, 15 do
    format[2](name, x, pad)
    local loaded = format[3](name, options)
    if loaded:storage():dataptr() % 16 == offset then
      return loaded
    end
  end
  error(('no %s file has elements at offset %d'):format(format[1], offset))
end

local function section(text, body, complex_body)
  return function()
    local name = os.tmpname()
    for _, entry in ipairs(core.classes) do
      if entry.kind ~= 'untyped' then
        title(('%s, %s : tensor in memory'):format(text, entry.element))
        local loop = 'for _ = 1, n do for i = 1, b do '
          .. (entry.kind == 'complex' and complex_body or body)
          .. ' end end'
        local x = torch[entry.element .. 'Tensor'](SIZE):fill(1)
        local options = { dtype = 'torch.' .. entry.element .. 'Storage', mmap = true }
        local function compare(case, loaded, reference, goal)
          measure {
            name = case,
            run = compile(loop, loaded, SIZE),
            reference = compile(loop, reference, SIZE),
            unit = SIZE,
            goal = goal,
          }
        end
        compare('tensor in memory : storage', x, x:storage())
        for _, format in ipairs(FORMATS) do
          if has(format[1], entry) then
            options.mmap = true
            compare(format[1] .. ', mapped', mapped(format, name, x, 0, options), x, GOAL)
            if entry.width > 1 then
              compare(format[1] .. ', mapped, not aligned', mapped(format, name, x, 1, options), x, GOAL)
            end
            options.mmap = false
            compare(format[1] .. ', copied', format[3](name, options), x, GOAL)
          end
        end
      end
    end
    os.remove(name)
  end
end

run_sections {
  { 'read', section('x[i]', 'sum = sum + a[i]', 'sum = sum + a:get(i)') },
  { 'write', section('x[i] = i', 'a[i] = i', 'a:set(i, i, 1)') },
}
measurement.report()
