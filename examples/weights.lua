-- Prints the weights of a model in a .t7 file. The file is mapped, so that only the elements that are printed are read.
--
-- The layers of the model are objects of classes that this program does not have. A CUDA tensor is a record in this program, from
-- which a tensor is made.
local HELP = [[
weights.lua [FILE] prints the weights of a model in a .t7 file: of each tensor its path, its class, its sizes and its first
elements.

  FILE  the .t7 file (a small network as Torch7 saves it, which the program makes)

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch.storage'

local SHOWN = 4

-- The tensor that a value is or, if it is the record of a CUDA tensor, describes; otherwise nil. Also returns the name of its
-- class.
local function tensor_of(value)
  if torch.isTensor(value) then
    return value, torch.typename(value)
  elseif torch.isRecord(value) and value.size and value.storage then
    local class = torch[torch.typename(value.storage):match '^torch%.(%a+)Storage$' .. 'Tensor']
    return class(value.storage, value.offset, value.size, value.stride), value.class
  end
end

-- Calls `visit` with the path, the tensor and its class for each tensor below `root`. Each object is visited once, in the order
-- of its path. It is not recursive, because files may be nested deeper than Lua's stack allows.
local function each_tensor(root, visit)
  local seen, waiting = {}, { { path = '', value = root } }
  while #waiting > 0 do
    local item = table.remove(waiting)
    local value = item.value
    local tensor, class = tensor_of(value)
    if (tensor or type(value) == 'table') and not seen[value] then
      seen[value] = true
      if tensor then
        visit(item.path, tensor, class)
      else
        -- The fields of an object of an unknown class are in its record.
        local fields, keys = value, {}
        if torch.isRecord(value) then
          fields = type(value.fields) == 'table' and value.fields or {}
        end
        for key in pairs(fields) do
          if type(key) == 'string' or type(key) == 'number' then
            keys[#keys + 1] = key
          end
        end
        -- The last one is visited first.
        table.sort(keys, function(a, b)
          if type(a) == type(b) then
            return a > b
          end
          return type(a) == 'string'
        end)
        for _, key in ipairs(keys) do
          local path = item.path == '' and tostring(key) or item.path .. '.' .. tostring(key)
          waiting[#waiting + 1] = { path = path, value = fields[key] }
        end
      end
    end
  end
end

-- The first elements of a tensor in row-major order, as text.
local function first_elements(tensor)
  local index, shown = {}, {}
  for d = 1, tensor:dim() do
    index[d] = 1
  end
  while #shown < math.min(SHOWN, tensor:nElement()) do
    shown[#shown + 1] = ('%.6g'):format(tensor:get(unpack(index)))
    -- The next index: the last dimension changes first.
    local d = #index
    while d > 0 and index[d] == tensor:size(d) do
      index[d], d = 1, d - 1
    end
    if d > 0 then
      index[d] = index[d] + 1
    end
  end
  if tensor:nElement() > SHOWN then
    shown[SHOWN + 1] = '...'
  end
  return table.concat(shown, ' ')
end

local function print_weights(name)
  local count, elements = 0, 0
  each_tensor(torch.load(name, { mmap = true }), function(path, tensor, class)
    local sizes = table.concat(tensor:size():totable(), ' x ')
    local values = tensor:nElement() > 0 and ': ' .. first_elements(tensor) or ''
    print(('%s%s of %s%s'):format(path == '' and '' or path .. ': ', class, sizes, values))
    count, elements = count + 1, elements + tensor:nElement()
  end)
  print(('%d tensor%s with %.0f elements'):format(count, count == 1 and '' or 's', elements))
end

-- A network of two layers. Its weights and biases are parts of one storage, as after Torch7's getParameters().
local function make_model(name)
  local parameters = torch.FloatStorage(4 * 3 + 4 + 2 * 4 + 2)
  for i = 1, #parameters do
    parameters[i] = i / 8
  end
  local last = 0
  local function linear(inputs, outputs)
    local weight = torch.FloatTensor(parameters, last + 1, { outputs, inputs })
    local bias = torch.FloatTensor(parameters, last + weight:nElement() + 1, { outputs })
    last = last + weight:nElement() + outputs
    return torch.record { class = 'nn.Linear', fields = { weight = weight, bias = bias, output = torch.FloatTensor() } }
  end
  local tanh = torch.record { class = 'nn.Tanh', fields = { output = torch.FloatTensor() } }
  local modules = { linear(3, 4), tanh, linear(4, 2) }
  torch.save(name, torch.record { class = 'nn.Sequential', fields = { modules = modules, train = false } })
end

local name = arg[1]
if name then
  print_weights(name)
else
  name = os.tmpname()
  local made, problem = pcall(make_model, name)
  local printed
  if made then
    printed, problem = pcall(print_weights, name)
  end
  os.remove(name)
  if not printed then
    error(problem, 0)
  end
end
