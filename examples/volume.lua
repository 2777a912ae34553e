-- Cuts a volume along each axis. The file is mapped, so only the parts that are looked at are read.
local HELP = [=[
volume.lua [FILE Z Y X [FOLDER]] cuts a volume along each axis, and shows the slices through the middle as sketches. A volume
is a raw file of numbers of 16 bits (int16, in the byte order of this machine), as from a scanner.

  FILE    the volume (a shell of bone around a ball and a rod, which the program makes)
  Z Y X   its sizes: slices, rows and columns; the columns are the fastest
  FOLDER  where the slices are saved as z.pgm, y.pgm and x.pgm (nowhere)

The exit status is 0, and 1 after an error.
]=]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local function fail(text)
  io.stderr:write('volume: ', text, '\n')
  os.exit(1)
end

-- The volume in a file as a tensor over a map of the file.
local function open(name, sizes, shared)
  local opened, storage =
    pcall(torch.ShortStorage.fromfile, name, shared, shared and sizes[1] * sizes[2] * sizes[3] or nil)
  if not opened then
    fail(storage)
  end
  local fits, volume = pcall(storage.view, storage, sizes)
  if not fits then
    fail(volume)
  end
  return volume
end

-- Writes a volume that is made of ellipsoids into a new file. What comes later covers what is there.
local function write_phantom(name, sizes)
  local volume = open(name, sizes, true)
  volume:fill(-1000) -- air
  local function ellipsoid(value, center, radii)
    for z = 1, sizes[1] do
      for y = 1, sizes[2] do
        local row = volume[z][y]
        for x = 1, sizes[3] do
          local a = (z - center[1]) / radii[1]
          local b = (y - center[2]) / radii[2]
          local c = (x - center[3]) / radii[3]
          if a * a + b * b + c * c <= 1 then
            row[x] = value
          end
        end
      end
    end
  end
  ellipsoid(1000, { 12, 16, 24 }, { 11, 15, 22 }) -- the shell
  ellipsoid(0, { 12, 16, 24 }, { 9, 13, 19 }) -- what it encloses
  ellipsoid(-400, { 9, 12, 20 }, { 5, 6, 7 }) -- a ball
  volume:sub(6, 18, 20, 22, 30, 32):fill(1000) -- a rod through the slices 6 to 18
  volume:storage():flush()
end

local name, sizes, folder = arg[1], { tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4]) }, arg[5]
if name and #sizes ~= 3 then
  fail 'after the file there are three sizes: slices, rows and columns'
end
local is_own = not name
if is_own then
  name, sizes = os.tmpname(), { 24, 32, 48 }
  write_phantom(name, sizes)
end
local volume = open(name, sizes)
if is_own then
  os.remove(name) -- the map keeps the file
end
if volume:nElement() == 0 then
  fail 'the volume is empty'
end

local lowest, highest = math.huge, -math.huge
local elements = volume:view(-1)
for i = 1, elements:size(1) do
  local value = elements[i]
  lowest, highest = math.min(lowest, value), math.max(highest, value)
end
print(
  ('%s elements of %d x %d x %d, from %d to %d'):format(
    volume:nElement(),
    sizes[1],
    sizes[2],
    sizes[3],
    lowest,
    highest
  )
)

-- A slice as bytes: the lowest number of the volume is 0, the highest 255.
local function grey_of(slice)
  local range = math.max(highest - lowest, 1)
  local grey = torch.ByteTensor(slice:size())
  for y = 1, slice:size(1) do
    for x = 1, slice:size(2) do
      grey:set(y, x, (slice:get(y, x) - lowest) / range * 255 + 0.5)
    end
  end
  return grey
end

-- At most 12 lines of 32 characters.
local RAMP = ' .:-=+*#%@'
local function sketch(grey)
  local height, width = grey:size(1), grey:size(2)
  local lines, columns = math.min(height, 12), math.min(width, 32)
  for line = 0, lines - 1 do
    local letters = {}
    for column = 0, columns - 1 do
      local value = grey:get(1 + math.floor(line * height / lines), 1 + math.floor(column * width / columns))
      local step = 1 + math.floor(value * 10 / 256)
      letters[#letters + 1] = RAMP:sub(step, step)
    end
    print('|' .. table.concat(letters) .. '|')
  end
end

local function save(grey, path)
  local head = ('P5\n%d %d\n255\n'):format(grey:size(2), grey:size(1))
  local file, message = io.open(path, 'wb')
  if not file then
    fail(message)
  end
  file:write(head, grey:string())
  file:close()
end

for dimension, axis in ipairs { 'z', 'y', 'x' } do
  local index = math.ceil(sizes[dimension] / 2)
  local slice = volume:select(dimension, index) -- a view: its strides say how the slice lies in the file
  local strides = table.concat(slice:stride():totable(), ', ')
  print(('%s = %d: %d x %d, strides %s'):format(axis, index, slice:size(1), slice:size(2), strides))
  local grey = grey_of(slice)
  sketch(grey)
  if folder then
    save(grey, ('%s/%s.pgm'):format(folder, axis))
  end
end
