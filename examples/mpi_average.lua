-- Averages models on several machines: each rank reads its own safetensors files, and MPI adds up the tensors of the same name,
-- in place.
local HELP = [[
mpi_average.lua AVERAGE FILE ... averages the tensors of several safetensors files, for example of models that were trained on
different data: mpirun -n 4 luajit examples/mpi_average.lua AVERAGE A B C D
With fewer ranks than files, a rank reads several. Without mpirun one process reads all of them.

  AVERAGE  the safetensors file that is written
  FILE     a safetensors file; all have tensors of the same names and sizes

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'
local mpi = require 'torch.mpi'

local unpack = rawget(table, 'unpack') or unpack
local world = mpi.world
local rank, ranks = world:rank(), world:size()

-- MPI adds floats and doubles; the smaller ones are added as floats. Tensors of other classes have to be the same in all files.
local ADDED = { Float = 'Float', Double = 'Double', Half = 'Float', BFloat16 = 'Float' }

local function class_of(tensor)
  return torch.type(tensor):match '^torch%.(.*)Tensor$'
end

-- Adds all elements of a tensor to those of a contiguous one.
local function add(sum, tensor)
  local a, b = sum:storage(), torch.DoubleTensor(tensor:size()):copy(tensor):storage()
  for i = 1, #a do
    a[i] = a[i] + b[i]
  end
end

-- The sum of the tensors of each name, over the files of this rank. A rank without a file has zeros.
local function sum_of(files, names, infos)
  local sums = {}
  for _, name in ipairs(names) do
    local info = infos[name]
    sums[name] = torch[info.class .. 'Tensor'](torch.LongStorage(info.sizes)):fill(0)
  end
  for _, path in ipairs(files) do
    local tensors = torch.safetensors.load(path)
    for _, name in ipairs(names) do
      local tensor = tensors[name] or error(path .. " has no tensor '" .. name .. "'", 0)
      if table.concat(tensor:size():totable(), 'x') ~= table.concat(infos[name].sizes, 'x') then
        error(path .. ": the sizes of '" .. name .. "' are not those of the first file", 0)
      end
      add(sums[name], tensor)
    end
  end
  return sums
end

local function main()
  local target, files = arg[1], { unpack(arg, 2) }
  if #files == 0 then
    error('give the file to write and the files to average, or --help', 0)
  end

  -- Rank 0 says which tensors there are, so that all ranks go through them in the same order.
  local first, names, infos = nil, {}, {}
  if rank == 0 then
    first = torch.safetensors.load(files[1])
    for name, tensor in pairs(first) do
      local class = ADDED[class_of(tensor)]
      if class then
        names[#names + 1] = name
        infos[name] = { class = class, sizes = tensor:size():totable() }
      end
    end
    table.sort(names)
  end
  names, infos = unpack(world:bcastobject { names, infos })

  local own = {}
  for n = rank + 1, #files, ranks do
    own[#own + 1] = files[n]
  end
  local sums = sum_of(own, names, infos)
  for _, name in ipairs(names) do
    world:reduce(sums[name], 'sum', 0)
  end

  if rank == 0 then
    for _, name in ipairs(names) do
      local s = sums[name]:storage()
      for i = 1, #s do
        s[i] = s[i] / #files
      end
      first[name] = sums[name]:type(torch.type(first[name]))
    end
    torch.safetensors.save(target, first)
    print(('%s: the average of %d files, %d tensors, %d ranks'):format(target, #files, #names, ranks))
  end
end

-- An error on one rank ends the others too.
mpi.main(main)
