-- A thread of main.lua: draws the rows `first`, `first + step` and so on of an ImageData.
local path, cpath, image, first, step = ...
package.path, package.cpath = path, cpath
require 'love.image' -- the methods of ImageData
local torch = require 'torch'

local MOST = 200

local width, height = image:getDimensions()
local bytes = torch.ByteStorage.frombuffer(image)

-- How many steps it takes the point to leave a circle around the origin, up to MOST.
local function steps(a, b)
  local x, y, n = 0, 0, 0
  repeat
    x, y, n = x * x - y * y + a, 2 * x * y + b, n + 1
  until x * x + y * y > 16 or n == MOST
  return n
end

for row = first, height, step do
  local b = 2.4 * ((row - 0.5) / height - 0.5)
  for column = 1, width do
    local n = steps(3.6 * ((column - 0.5) / width - 0.7), b)
    local light = n < MOST and math.min(255, 30 * math.sqrt(n) - 30) or 0
    local at = 4 * ((row - 1) * width + column - 1)
    bytes[at + 1] = light * 0.6
    bytes[at + 2] = light
    bytes[at + 3] = 255 - (255 - light) * (255 - light) / 255
    bytes[at + 4] = 255
  end
end
