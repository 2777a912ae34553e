-- LÖVE without a window: its Data objects as the memory of storages, its threads, its exits, and examples/love.
-- Interpreters: luajit, lua5.1
local support = require 'spec.support'
local processes = require 'spec.support.processes'
local program = require 'spec.support.program'
local types = require 'spec.support.types'

local test, test_once = program.tests(function()
  return support.sh 'command -v love' == '' and 'love is missing: tools/need --try love' or nil
end)
local path = support.temporary()

local CONFIGURATION = [[
function love.conf(t)
  t.identity, t.window = 'torch-spec', false
  for _, module in ipairs { 'window', 'graphics', 'audio', 'joystick', 'physics', 'video' } do
    t.modules[module] = false
  end
end
]]

-- LÖVE ignores LUA_PATH and LUA_CPATH, also in its threads.
local PRELUDE = [[
package.path, package.cpath = os.getenv 'LUA_PATH' .. package.path, os.getenv 'LUA_CPATH' .. package.cpath
local torch = require 'torch'
local function say(...)
  local words = {}
  for i = 1, select('#', ...) do
    local value = select(i, ...)
    words[i] = torch.isStorage(value) and table.concat(value:totable(), ' ') or tostring(value)
  end
  print(table.concat(words, ' '))
end
local function fails(...)
  local ok, message = pcall(...)
  say(ok and 'no error' or message:match "^bad argument #%d to '[^']*' %((.*)%)$" or message)
end
local function collect()
  for _ = 1, 3 do
    collectgarbage()
  end
end
]]

-- Runs a script in LÖVE. Returns both output streams and the exit status.
local function love(script)
  support.spit(path 'conf.lua', CONFIGURATION)
  support.spit(path 'prelude.lua', PRELUDE)
  support.spit(path 'main.lua', PRELUDE .. script .. '\nlove.event.quit(love.answer or 0)\n')
  return support.execute(("SDL_VIDEODRIVER=dummy timeout 120 love '%s' </dev/null"):format(path()))
end

local function check(expected, script)
  local output, status = love(script)
  assert.equal(expected, output)
  assert.equal(0, status)
end

describe('LÖVE #process', function()
  after_each(processes.clean)

  test('reads and writes elements of all classes', function()
    local lines = { 'ffi' }
    for _, T in ipairs(types.TORCH7) do
      lines[#lines + 1] = ('torch.%sStorage 49500'):format(T)
    end
    check(table.concat(lines, '\n'), ("local TYPES = { '%s' }\n"):format(table.concat(types.TORCH7, "', '")) .. [[
      say(torch.accessors())
      for _, T in ipairs(TYPES) do
        local s, sum = torch[T .. 'Storage'](1000), 0
        for i = 1, #s do
          s[i] = i % 100
        end
        for i = 1, #s do
          sum = sum + s[i]
        end
        say(s:type(), sum)
      end
    ]])
  end)

  test_once('takes a ByteData as memory, with all options', function()
    check(
      [[
torch.UntypedStorage 8 false false
Jello wo
111 32
119 111
false 19045
8 bytes from offset 0 on is not a multiple of the 16-byte element size (torch.ComplexDoubleStorage): the buffer has 8 bytes
offset 8 is not inside a buffer of 8 bytes: 0 to 7
9 elements of 1 bytes (torch.UntypedStorage) from offset 0 on need 9 bytes, 8 of the buffer's 8 are left
option 'size': only of a pointer, other buffers say how long they are
nothing to share: the buffer has 0 bytes, all elements are wanted
belongs to a value of one Lua state]],
      [[
      local data = love.data.newByteData 'hello wo'
      local s = torch.frombuffer(data)
      say(s:type(), #s, s:isReadOnly(), s:resizable())
      s[1] = ('J'):byte()
      say(data:getString())
      say(torch.ByteStorage.frombuffer(data, { offset = 4, count = 2 }))
      local x = torch.frombuffer(data, { dtype = 'uint8', offset = 4, count = 4 }):view(2, 2)
      say(x:get(2, 1), x:get(2, 2))
      local swapped = torch.ShortStorage.frombuffer(data, { byteorder = 'big' })
      say(swapped:isReadOnly(), swapped[1])
      fails(torch.frombuffer, data, { dtype = 'complex128' })
      fails(torch.frombuffer, data, { offset = 8 })
      fails(torch.frombuffer, data, { count = 9 })
      fails(torch.frombuffer, data, { size = 8 })
      fails(torch.frombuffer, love.filesystem.newFileData('', 'empty'))
      say(select(2, pcall(s.token, s)):match 'belongs to a value of one Lua state')
    ]]
    )
  end)

  test_once('shares the pixels of an ImageData and the samples of a SoundData', function()
    check(
      [[
255 128 0 255
0.2 0.4 0.6 1
0.5 -2 0 1
0.25 1000 0 0
0.5 -1
0.504]],
      [[
      local function round(...)
        local rounded = {}
        for i = 1, select('#', ...) do
          rounded[i] = math.floor(select(i, ...) * 1000 + 0.5) / 1000
        end
        return unpack(rounded)
      end
      local image = love.image.newImageData(3, 2)
      local pixels = torch.frombuffer(image, { dtype = 'uint8' }):view(2, 3, 4)
      image:setPixel(2, 1, 1, 0.5, 0, 1)
      say(pixels:select(1, 2):select(1, 3):contiguous():storage():sub(21, 24))
      pixels:select(1, 1):select(1, 2):copy(torch.ByteTensor { 51, 102, 153, 255 })
      say(round(image:getPixel(1, 0)))
      for format, dtype in pairs { rgba16f = 'float16' } do
        local image = love.image.newImageData(2, 1, format)
        local s = torch.frombuffer(image, { dtype = dtype })
        s:copy(torch.DoubleStorage { 0.5, -2, 0, 1, 0, 0, 0, 0 })
        say(round(image:getPixel(0, 0)))
      end
      local wide = love.image.newImageData(1, 1, 'rgba32f')
      torch.FloatStorage.frombuffer(wide):copy(torch.FloatStorage { 0.25, 1000, 0, 0 })
      say(round(wide:getPixel(0, 0)))
      local sound = love.sound.newSoundData(4, 44100, 16, 2)
      local samples = torch.ShortStorage.frombuffer(sound):view(4, 2)
      samples:set(3, 1, 16384)
      samples:set(3, 2, -32768)
      say(round(sound:getSample(2, 1), (sound:getSample(2, 2))))
      local coarse = love.sound.newSoundData(1, 8000, 8, 1)
      torch.frombuffer(coarse, { dtype = 'uint8' })[1] = 192
      say(round(coarse:getSample(0)))
    ]]
    )
  end)

  test_once('only reads what LÖVE itself only reads', function()
    check(
      [[
FileData true hello
read-only
DataView true 101 108
read-only
CompressedData true hello hello hello
read-only
hello]],
      [[
      local file = love.filesystem.newFileData('hello', 'a.txt')
      local view = love.data.newDataView(love.data.newByteData 'hello', 1, 2)
      local packed = love.data.compress('data', 'zlib', 'hello hello hello')
      for _, data in ipairs { file, view, packed } do
        local s = torch.frombuffer(data, { dtype = 'uint8' })
        say(data:type(), s:isReadOnly(), data == view and s or data == file and s:string() or
          love.data.decompress('string', 'zlib', s:string()))
        say(select(2, pcall(s.fill, s, 1)):match 'read%-only')
      end
      say(file:getString())
    ]]
    )
  end)

  test_once('keeps the memory as long as a storage or a view shows it', function()
    check(
      [[
0 1 2
0 1 2
the Data object was released
16 0 1 2
the Data object was released
0
kept]],
      [[
      local function full(n)
        local data = love.data.newByteData(n)
        torch.frombuffer(data, { dtype = 'uint8' }):copy(torch.ByteStorage { 0, 1, 2 }, 1, 1, 3)
        return data
      end
      local function disturb()
        collect()
        for i = 1, 200 do
          torch.frombuffer(love.data.newByteData(16), { dtype = 'uint8' }):fill(255)
        end
        collect()
      end
      -- The object is collected.
      local view = torch.frombuffer(full(16), { dtype = 'uint8' }):sub(1, 3)
      disturb()
      say(view)
      -- The object gives back its memory.
      local data = full(16)
      local s = torch.frombuffer(data, { dtype = 'uint8' })
      view = s:sub(1, 3)
      say(data:release() and view)
      fails(torch.frombuffer, data)
      s:free()
      disturb()
      say(torch.memory().foreign, view)
      -- Its finalizer is called by hand.
      data = full(16)
      view = torch.frombuffer(data, { dtype = 'uint8' })
      getmetatable(data).__gc(data)
      getmetatable(data).__gc(data)
      disturb()
      fails(torch.frombuffer, data)
      view:fill(0)
      -- As long as the finalized object exists, LÖVE gives it instead of a new one that has its address.
      view, s, data = nil
      collect()
      say(torch.memory().foreign)
      -- A megabyte each: nothing is lost.
      local function resident()
        return tonumber(io.open('/proc/self/status'):read('*a'):match 'VmRSS:%s*(%d+)')
      end
      local before
      for i = 1, 600 do
        torch.frombuffer(love.image.newImageData(512, 512)):fill(i % 256)
        if i % 10 == 0 then
          collect()
        end
        before = before or i == 100 and resident() or nil
      end
      say(resident() - before < 100 * 1024 and 'kept' or 'lost')
    ]]
    )
  end)

  test_once('believes neither methods nor metatables', function()
    check(
      [[
with __buffer expected, got table
with __buffer expected, got userdata
with __buffer expected, got userdata
with __buffer expected, got userdata
the Data object was released
with __buffer expected, got thread
4 false
its own __buffer
a Data object needs LÖVE's own function love.data.newDataView, of LÖVE 11 or later
a Data object needs LÖVE's own function love.data.newDataView, of LÖVE 11 or later
a Data object needs LÖVE's own function love.data.newDataView, of LÖVE 11 or later
a Data object needs LÖVE's own function love.data.newDataView, of LÖVE 11 or later
a Data object needs LÖVE's own function love.data.newDataView, of LÖVE 11 or later
a Data object needs LÖVE's own function love.data.newDataView, of LÖVE 11 or later
4]],
      [[
      local data = love.data.newByteData 'abcd'
      local function refused(value)
        local _, message = pcall(torch.frombuffer, value)
        say(message:match 'with __buffer expected, got %a+' or message:match '%((.*)%)$')
      end
      local function lie()
        return 2 ^ 40
      end
      local methods = { getPointer = data.getPointer, getFFIPointer = lie, getSize = lie, typeOf = data.typeOf }
      methods.__index = methods
      refused(setmetatable({}, methods))
      local proxy = newproxy(true)
      getmetatable(proxy).__index = methods
      refused(proxy)
      refused(love.math.newRandomGenerator())
      refused(io.stdout)
      -- An open file has a block of the size of a LÖVE object, whose words are no LÖVE object's.
      local file = getmetatable(io.stdout)
      debug.setmetatable(io.stdout, getmetatable(data))
      local ok, message = pcall(torch.frombuffer, io.stdout)
      debug.setmetatable(io.stdout, file)
      say(message:match '%((.*)%)$')
      refused(coroutine.create(lie))
      -- The methods of the type itself.
      local metatable = getmetatable(data)
      for name in pairs(methods) do
        metatable[name] = lie
      end
      local s = torch.frombuffer(data)
      say(#s, s:isReadOnly())
      -- An object of LÖVE that is no Data may have a __buffer.
      local random = love.math.newRandomGenerator()
      getmetatable(random).__buffer = function()
        return 'its own __buffer'
      end
      say(torch.frombuffer(random):string())
      -- The function that makes views.
      local own = love.data.newDataView
      local stolen = own(love.data.newByteData(100), 0, 100)
      for _, other in ipairs {
        function(...)
          stolen = own(...)
          return stolen
        end,
        coroutine.wrap(function()
          while true do
            coroutine.yield(stolen)
          end
        end),
        os.time,
        love.data.newByteData,
        love.timer.getTime,
        5,
      } do
        love.data.newDataView = other
        fails(torch.frombuffer, data)
      end
      love.data.newDataView = own
      say(#torch.frombuffer(data))
    ]]
    )
  end)

  test_once('passes storages to its threads by tokens, and Data objects by channels', function()
    check(
      [[
7 500500
6 false
10 20 30
255 51]],
      [[
      local CODE = love.filesystem.read 'prelude.lua' .. [=[
        local back = love.thread.getChannel 'back'
        local token, image = ...
        local s = torch.fromToken(token)
        local sum = 0
        for i = 1, #s do
          sum = sum + s[i]
        end
        s[1] = 7
        s:free()
        -- In this Lua state ImageData has no methods: love.image is not loaded.
        torch.ByteStorage.frombuffer(image)[1] = 255
        back:push(sum)
        back:push(torch.LongStorage({ 1, 2, 3 }):token())
        back:push(love.data.newByteData '\10\20\30')
      ]=]
      local s = torch.DoubleStorage(1000)
      for i = 1, #s do
        s[i] = i
      end
      local image = love.image.newImageData(1, 1)
      local pixel = torch.ByteStorage.frombuffer(image)
      local thread = love.thread.newThread(CODE)
      thread:start(s:token(), image)
      thread:wait()
      assert(not thread:getError(), thread:getError())
      local back = love.thread.getChannel 'back'
      say(s[1], back:pop())
      local given = torch.fromToken(back:pop())
      say(given[1] + given[2] + given[3], given:isReadOnly())
      say(torch.ByteStorage.frombuffer(back:pop()))
      pixel[2] = 51
      say(pixel[1], math.floor(select(2, image:getPixel(0, 0)) * 255 + 0.5))
    ]]
    )
  end)

  test_once('ends and restarts while storages show its memory, and raises errors as strings', function()
    local marker = path 'again'
    os.remove(marker)
    local script = ([[
      local again = io.open(%q)
      -- Older than its storage, so its finalizer runs later when the Lua state is closed.
      local proxy = newproxy(true)
      kept = torch.frombuffer(love.data.newByteData(2 ^ 20), { dtype = 'uint8' })
      getmetatable(proxy).__gc = function()
        say('freed', (pcall(kept.fill, kept, 1)))
      end
      _G.proxy, view = proxy, kept:sub(2, 3)
      say(#kept, select(2, pcall(function()
        return kept[2 ^ 20 + 1]
      end)):match '^main.lua:%%d+: index 1048577 is out of range')
      if not again then
        io.open(%q, 'w'):close()
      end
      love.answer = again and 3 or 'restart'
    ]]):format(marker, marker)
    local output, status = love(script)
    local once = '1048576 main.lua:LINE: index 1048577 is out of range\nfreed false'
    assert.equal(once .. '\n' .. once, (output:gsub('lua:%d+', 'lua:LINE')))
    assert.equal(3, status)
  end)

  test_once('runs examples/love, which explains itself', function()
    local output, status = support.execute 'SDL_VIDEODRIVER=dummy timeout 120 love examples/love --help </dev/null'
    assert.equal(0, status)
    assert.matches('^love %[FILE %[WIDTH HEIGHT%]%] draws', output)
  end)

  test_once('runs examples/love, which writes a picture', function()
    local picture = path 'picture.png'
    local output, status =
      support.execute(("SDL_VIDEODRIVER=dummy timeout 120 love examples/love '%s' 128 80 </dev/null"):format(picture))
    assert.equal(0, status, output)
    local bytes = support.slurp(picture)
    assert.equal(
      ('128 x 80 pixels by 2 threads in TIME s\n%s: %d bytes'):format(picture, #bytes),
      output:match('%d+ x .*$'):gsub('in [%d.]+ s', 'in TIME s')
    )
    local _, shades = output:gsub('[.:*#%%@=+-]', '')
    assert.is_true(shades > 100, output)
    assert.equal('\137PNG\r\n\26\n', bytes:sub(1, 8))
    assert.equal('\0\0\0\128\0\0\0\80', bytes:sub(17, 24))
    check(
      '128 80 0 0 0 255',
      ([[
      local file = love.filesystem.newFileData(io.open(%q, 'rb'):read '*a', 'picture.png')
      local image = love.image.newImageData(file)
      local pixels = torch.ByteStorage.frombuffer(image):view(80, 128, 4)
      say(pixels:size(2), pixels:size(1), pixels:select(1, 40):select(1, 80):clone():storage())
    ]]):format(picture)
    )
  end)
end)
