-- Draws a picture by two threads of LÖVE: both get the ImageData and write its bytes through storages, each every second row.
local HELP = [=[
love [FILE [WIDTH HEIGHT]] draws the Mandelbrot set into an ImageData of LÖVE, prints a sketch of it, and writes it as a PNG
file: love examples/love picture.png
It needs no window.

  FILE          the PNG file (none)
  WIDTH HEIGHT  the size of the picture in pixels (960 540)

The exit status is 0, and 1 after an error.
]=]

-- LÖVE does not read LUA_PATH and LUA_CPATH. A library that is installed is found without these lines.
local root = love.filesystem.getSource() .. '/../../'
package.path = root .. 'lua/?.lua;' .. root .. 'lua/?/init.lua;' .. package.path
package.cpath = root .. 'build/?.so;' .. package.cpath
local torch = require 'torch'

local THREADS = 2
local SHADES = ' .:-=+*#%@'

local function draw(image)
  local threads = {}
  for first = 1, THREADS do
    threads[first] = love.thread.newThread 'rows.lua'
    threads[first]:start(package.path, package.cpath, image, first, THREADS)
  end
  for _, thread in ipairs(threads) do
    thread:wait()
    local wrong = thread:getError()
    if wrong then
      error(wrong, 0)
    end
  end
end

-- Each character is the mean of the green parts of one field.
local function sketch(pixels, columns, lines)
  local height, width = pixels:size(1), pixels:size(2)
  local green = pixels:select(3, 2)
  for line = 1, lines do
    local text = {}
    for column = 1, columns do
      local top, bottom = math.floor((line - 1) * height / lines) + 1, math.floor(line * height / lines)
      local left, right = math.floor((column - 1) * width / columns) + 1, math.floor(column * width / columns)
      local sum, count = 0, 0
      for y = top, bottom do
        for x = left, right do
          sum, count = sum + green:get(y, x), count + 1
        end
      end
      local shade = math.floor(sum / math.max(count, 1) / 256 * #SHADES) + 1
      text[column] = SHADES:sub(shade, shade)
    end
    print((table.concat(text):gsub(' +$', '')))
  end
end

function love.load(arguments)
  if arguments[1] == '--help' then
    io.write(HELP)
    return love.event.quit(0)
  end
  local name, width, height = arguments[1], tonumber(arguments[2] or 960), tonumber(arguments[3] or 540)
  local image = love.image.newImageData(width, height)
  local start = love.timer.getTime()
  draw(image)
  local seconds = love.timer.getTime() - start

  local pixels = torch.ByteStorage.frombuffer(image):view(height, width, 4)
  sketch(pixels, 64, 20)
  print(('%d x %d pixels by %d threads in %.2f s'):format(width, height, THREADS, seconds))
  if name then
    -- What `encode` returns is a Data, too.
    local png = torch.frombuffer(image:encode 'png')
    local file = assert(io.open(name, 'wb'))
    assert(file:write(png:string()))
    assert(file:close())
    print(('%s: %d bytes'):format(name, #png))
  end
  love.event.quit(0)
end
