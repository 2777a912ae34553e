-- examples/volume.lua, run as by a user.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'

local path = support.temporary()

-- A shell around a ball and a rod, which goes through the slices only.
local SHOWN = [[
36864 elements of 24 x 32 x 48, from -1000 to 1000
z = 12: 32 x 48, strides 48, 1
|                                |
|         @@@@@@@@@@@@@@         |
|     @@@++++++++++++++++@@@     |
|   @@+++++------+++++++++++@@   |
|  @@++++++-------+++++++++++@@  |
|  @@++++++-------+++++++++++@@  |
|  @@++++++++++++++++++++++++@@  |
|  @@++++++++++++++++++++++++@@  |
|  @@@+++++++++++++++@@+++++@@@  |
|    @@@++++++++++++++++++@@@    |
|      @@@++++++++++++++@@@      |
|           @@@@@@@@@@           |
y = 16: 24 x 48, strides 1536, 1
|                                |
|        @@@@@@@@@@@@@@@@        |
|     @@@++++++++++++++++@@@     |
|   @@@++++------++++++++++@@@   |
|  @@++++++-------+++++++++++@@  |
|  @@++++++------++++++++++++@@  |
|  @@++++++++++++++++++++++++@@  |
|  @@++++++++++++++++++++++++@@  |
|   @@@++++++++++++++++++++@@@   |
|     @@@++++++++++++++++@@@     |
|        @@@@@@@@@@@@@@@@        |
|                                |
x = 24: 24 x 32, strides 1536, 48
|               @                |
|       @@@@@@@@+@@@@@@@@        |
|    @@@+++---+++++++++++@@@     |
|  @@@++---------++++++++++@@@   |
| @@++++---------++++++++++++@@  |
| @@++++---------++++++++++++@@  |
| @@+++++++---+++++++++++++++@@  |
| @@+++++++++++++++++++++++++@@  |
|  @@@+++++++++++++++++++++@@@   |
|    @@@+++++++++++++++++@@@     |
|       @@@@@@@@+@@@@@@@@        |
|               @                |]]

local function volume(...)
  local command = support.interpreter .. ' examples/volume.lua'
  for _, word in ipairs { ... } do
    command = command .. " '" .. word .. "'"
  end
  return support.execute(command)
end

-- Numbers as int16, the low byte first.
local function shorts(numbers)
  local bytes = {}
  for i, number in ipairs(numbers) do
    bytes[i] = string.char(number % 256, math.floor(number / 256) % 256)
  end
  return table.concat(bytes)
end

describe('examples/volume.lua #process', function()
  it('writes a volume, and shows the middle of each axis', function()
    local output, status = volume()
    assert.equal(0, status, output)
    assert.equal(SHOWN, output)
  end)

  it('cuts the volume of a file, and writes the slices as pictures', function()
    -- Each number is another one: 10 z + 4 y + x - 5.
    local numbers = {}
    for z = 0, 2 do
      for y = 0, 1 do
        for x = 0, 3 do
          numbers[#numbers + 1] = 10 * z + 4 * y + x - 5
        end
      end
    end
    local function grey(value)
      return string.char(math.floor(value / 27 * 255 + 0.5))
    end
    local file = support.spit(path 'volume.raw', shorts(numbers))
    os.execute("mkdir -p '" .. path 'slices' .. "'")
    local output, status = volume(file, 3, 2, 4, path 'slices')
    assert.equal(0, status, output)
    assert.equal('24 elements of 3 x 2 x 4, from -5 to 22', output:match '^[^\n]*')
    local lines = { 'z = 2: 2 x 4, strides 4, 1', 'y = 1: 3 x 4, strides 8, 1', 'x = 2: 3 x 2, strides 8, 4' }
    for _, line in ipairs(lines) do
      assert.is_truthy(output:find('\n' .. line .. '\n', 1, true), output)
    end
    local expected = { z = 'P5\n4 2\n255\n', y = 'P5\n4 3\n255\n', x = 'P5\n2 3\n255\n' }
    for i, number in ipairs(numbers) do
      local z, y, x = math.floor((i - 1) / 8), math.floor((i - 1) / 4) % 2, (i - 1) % 4
      for axis, is_inside in pairs { z = z == 1, y = y == 0, x = x == 1 } do
        if is_inside then
          expected[axis] = expected[axis] .. grey(number + 5)
        end
      end
    end
    for axis, bytes in pairs(expected) do
      assert.equal(bytes, support.slurp(path 'slices' .. '/' .. axis .. '.pgm'), axis)
    end
  end)

  it('reports files and sizes that do not fit', function()
    local file = support.spit(path 'small.raw', shorts { 1, 2, 3, 4 })
    for message, arguments in pairs {
      ['a view of 2 x 2 x 2 needs 8 elements'] = { file, 2, 2, 2 },
      ['after the file there are three sizes'] = { file, 2, 2 },
      ['the volume is empty'] = { support.spit(path 'empty.raw', ''), 0, 2, 2 },
      ['No such file'] = { path 'none', 1, 1, 1 },
    } do
      local output, status = volume(unpack(arguments))
      assert.equal(1, status, output)
      assert.is_truthy(output:find(message, 1, true), output)
    end
  end)
end)
