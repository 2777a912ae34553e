-- The examples that parse binary files, run as by a user: their output is right for files that are made here byte by byte.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'

local path = support.temporary()

local function example(name, ...)
  local command = ('%s examples/%s.lua'):format(support.interpreter, name)
  for _, word in ipairs { ... } do
    command = command .. " '" .. word .. "'"
  end
  return support.execute(command)
end

local function check(expected, ...)
  local output, status = example(...)
  assert.equal(expected, output)
  assert.equal(0, status)
end

local function fails(expected, ...)
  local output, status = example(...)
  assert.equal(1, status, output)
  assert.is_truthy(output:find(expected, 1, true), output)
end

-- An integer as `count` bytes, lowest first.
local function little(number, count)
  local bytes = {}
  for i = 1, count do
    bytes[i] = string.char(math.floor(number % 256))
    number = math.floor(number / 256)
  end
  return table.concat(bytes)
end

local function big(number, count)
  return little(number, count):reverse()
end

describe('examples/wav.lua #process', function()
  local function wav(coding, channels, rate, bits, data, before)
    local frame = channels * bits / 8
    local format = little(coding, 2) .. little(channels, 2) .. little(rate, 4) .. little(rate * frame, 4)
    format = format .. little(frame, 2) .. little(bits, 2)
    local body = 'WAVE'
      .. (before or '')
      .. 'fmt '
      .. little(#format, 4)
      .. format
      .. 'data'
      .. little(#data, 4)
      .. data
    return support.spit(path 'sound.wav', 'RIFF' .. little(#body, 4) .. body)
  end

  it('writes a tone, and detects it', function()
    check(
      '2 channels of int16, 8000 Hz, 8000 frames, 1.000 s\n'
        .. 'channel 1: peak 16000, root mean square 11313.3, about 439 Hz\n'
        .. 'channel 2: peak 8000, root mean square 5656.47, about 439 Hz',
      'wav'
    )
  end)

  it('reads samples of 8, 16 and 32 bits', function()
    check(
      '1 channels of uint8, 8 Hz, 4 frames, 0.500 s\nchannel 1: peak 128, root mean square 90.5097, about 2 Hz',
      'wav',
      wav(1, 1, 8, 8, '\128\0\128\0')
    )
    local stereo = little(2 ^ 16 - 1, 2) .. little(300, 2) .. little(3, 2) .. little(300, 2)
    -- Preceded by a chunk of odd length, which is padded: what follows is not aligned to four bytes.
    check(
      '2 channels of int16, 2 Hz, 2 frames, 1.000 s\n'
        .. 'channel 1: peak 3, root mean square 2.23607, about 1 Hz\n'
        .. 'channel 2: peak 300, root mean square 300, about 0 Hz',
      'wav',
      wav(1, 2, 2, 16, stereo, 'LIST' .. little(5, 4) .. 'hello\0')
    )
    check(
      '1 channels of float32, 1 Hz, 2 frames, 2.000 s\nchannel 1: peak 1, root mean square 0.790569, about 0 Hz',
      'wav',
      wav(3, 1, 1, 32, '\0\0\128\63\0\0\0\63')
    )
  end)

  it('reports files of other formats', function()
    fails('is not a WAV file', 'wav', support.spit(path 'x', 'RIFFxxxxWAV'))
    fails('a chunk is missing', 'wav', support.spit(path 'x', 'RIFFxxxxWAVEfmt '))
    fails('this program does not know format 2 with 4 bits', 'wav', wav(2, 1, 8, 4, 'xx'))
    fails('cannot open file', 'wav', path 'none')
  end)
end)

describe('examples/iq.lua #process', function()
  it('finds a tone in noise', function()
    check('65536 bytes: 8192 samples, 0.1707 s\nstrongest of 4096 frequencies: -1195 Hz, 56 % of the power', 'iq')
  end)

  it('counts the turns of a recording', function()
    local one, minus, zero = '\0\0\128\63', '\0\0\128\191', '\0\0\0\0'
    -- 1, i, -1, -i: a quarter turn each, and one byte too many.
    local turn = one .. zero .. zero .. one .. minus .. zero .. zero .. minus
    local file = support.spit(path 'iq', turn:rep(16) .. 'x')
    check('513 bytes: 64 samples, 0.6400 s\nstrongest of 64 frequencies: 25 Hz, 100 % of the power', 'iq', file, '100')
    fails('the rate has to be a number', 'iq', file, 'fast')
    fails('the file has no samples', 'iq', support.spit(path 'empty', ''))
  end)
end)

describe('examples/image.lua #process', function()
  it('shows the picture in a file', function()
    check(
      [[
PPM, 48 x 32
mean colour: red 124.5, green 101.8, blue 118.8
|:::::::::::@@@@@@@@@@@==========|
|:::::::::::@@@@@@@@@@@==========|
|:::::::::::%%%%%%%%%%%----------|
|:::::::::::%%%%%%%%%%%----------|
|...........###########----------|
|...........***********----------|
|...........***********::::::::::|
|...........+++++++++++::::::::::|]],
      'image'
    )
  end)

  it('reads the same from a BMP in either row order, and writes it in grey', function()
    -- Two by two: red, green; blue, white. Rows are padded to four bytes.
    local red, green, blue, white = '\255\0\0', '\0\255\0', '\0\0\255', '\255\255\255'
    local ppm = support.spit(path 'a.ppm', 'P6 2 2 255\n' .. red .. green .. blue .. white)
    local function bmp(height, rows)
      local info = little(40, 4) .. little(2, 4) .. little(height, 4) .. little(1, 2) .. little(24, 2) .. little(0, 4)
      info = info .. little(16, 4) .. little(0, 16)
      return support.spit(path 'a.bmp', 'BM' .. little(70, 4) .. little(0, 4) .. little(54, 4) .. info .. rows)
    end
    local top = red:reverse() .. green:reverse() .. '\0\0'
    local bottom = blue:reverse() .. white:reverse() .. '\0\0'
    local shown = '2 x 2\nmean colour: red 127.5, green 127.5, blue 127.5\n'
    local grey = 'P5\n2 2\n255\n' .. string.char(76, 150, 29, 255)
    for _, picture in ipairs {
      { 'PPM', ppm },
      { 'BMP', bmp(2, bottom .. top) },
      { 'BMP', bmp(2 ^ 32 - 2, top .. bottom) },
    } do
      if picture[1] == 'BMP' and #support.slurp(picture[2]) ~= 70 then
        error 'the picture is not what it says'
      end
      local out = path(picture[1] .. '.pgm')
      local output, status = example('image', picture[2], out)
      assert.equal(0, status, output)
      assert.equal(picture[1] .. ', ' .. shown, output:sub(1, #picture[1] + 2 + #shown))
      assert.equal(grey, support.slurp(out))
    end
  end)

  it('crops, turns and divides the picture', function()
    -- Three by two. The bytes of a pixel are a small letter, a capital and a digit.
    local name = support.spit(path 'b.ppm', 'P6 3 2 255\n' .. 'aA0bB1cC2' .. 'dD3eE4fF5')
    for operations, expected in pairs {
      ['crop=2,1,2,2'] = 'P6\n2 2\n255\n' .. 'bB1cC2' .. 'eE4fF5',
      flip = 'P6\n3 2\n255\n' .. 'dD3eE4fF5' .. 'aA0bB1cC2',
      mirror = 'P6\n3 2\n255\n' .. 'cC2bB1aA0' .. 'fF5eE4dD3',
      turn = 'P6\n2 3\n255\n' .. 'dD3aA0' .. 'eE4bB1' .. 'fF5cC2',
      green = 'P5\n3 2\n255\n' .. 'ABC' .. 'DEF',
      planes = 'P5\n3 6\n255\n' .. 'abcdef' .. 'ABCDEF' .. '012345',
      ['turn mirror flip blue crop=1,1,1,2'] = 'P5\n1 2\n255\n' .. '21',
    } do
      local out = support.spit(path 'b.out', ('a longer file'):rep(10))
      local words = {}
      for word in operations:gmatch '%S+' do
        words[#words + 1] = word
      end
      local output, status = example('image', name, out, unpack(words))
      assert.equal(0, status, output)
      assert.equal(expected, support.slurp(out), operations)
    end
    fails('there is no operation sharpen', 'image', name, path 'c', 'sharpen')
    fails('crop needs four numbers', 'image', name, path 'c', 'crop=1,2')
    fails('crop=3,1,2,1: a range of length 2 from index 3 on', 'image', name, path 'c', 'crop=3,1,2,1')
    fails('grey: index 2 is out of range: dimension 3 has size 1', 'image', name, path 'c', 'red', 'grey')
  end)

  it('reports files that are not pictures', function()
    fails('is neither a PPM (P6) nor a BMP', 'image', support.spit(path 'x', 'P5 1 1 255\nx'))
    fails('the picture is incomplete: it has 12 bytes and needs 23', 'image', support.spit(path 'x', 'P6 2 2 255\nx'))
    fails('the header of the picture is incomplete', 'image', support.spit(path 'x', 'P6 2 2'))
    fails('the header of the picture is incomplete', 'image', support.spit(path 'x', 'BM'))
    fails('only uncompressed pictures', 'image', support.spit(path 'x', 'BM' .. ('\0'):rep(60)))
  end)
end)

describe('examples/packets.lua #process', function()
  local EXPECTED = [[
1: a frame of type 0806, 42 bytes
2: UDP 192.0.2.1 > 192.0.2.53, port 40000 > 53, 71 bytes, header correct
3: UDP 192.0.2.53 > 192.0.2.1, port 53 > 40000, 87 bytes, header correct
4: TCP 192.0.2.1 > 192.0.2.7, port 50000 > 80, 54 bytes, header correct
5: ICMP 192.0.2.7 > 192.0.2.1, 42 bytes, header wrong
5 packets of 296 bytes]]

  it('parses the packets of a capture', function()
    check(EXPECTED, 'packets')
  end)

  it('parses them from a string.buffer, in a Neovim that has them', function()
    if support.sh 'command -v nvim' == '' then
      return pending 'nvim is missing: tools/need --try nvim'
    end
    local code = 'lua arg = { [0] = [[examples/packets.lua]] } dofile [[examples/packets.lua]]'
    local output = support.sh(("timeout 60 nvim --headless -u NONE -i NONE -n -c '%s' -c 'q!' </dev/null"):format(code))
    assert.equal(EXPECTED, (output:gsub('\r', '')))
  end)

  it('reads captures in either byte order', function()
    local frame = ('\1'):rep(6) .. ('\2'):rep(6) .. '\134\221' .. ('x'):rep(100)
    for _, number in ipairs { little, big } do
      local head = number(0xa1b2c3d4, 4)
        .. number(2, 2)
        .. number(4, 2)
        .. number(0, 8)
        .. number(65535, 4)
        .. number(1, 4)
      local record = number(0, 8) .. number(#frame, 4) .. number(#frame, 4) .. frame
      local file = support.spit(path 'x.pcap', head .. record:rep(3) .. record:sub(1, 50))
      local line = ': a frame of type 86dd, 114 bytes\n'
      check('1' .. line .. '2' .. line .. '3' .. line .. '3 packets of 342 bytes', 'packets', file)
    end
  end)

  it('reports files that are not captures', function()
    fails('is not a pcap file', 'packets', support.spit(path 'x', 'GIF89a'))
    fails('is not a pcap file', 'packets', support.spit(path 'x', ('GIF89a'):rep(10)))
    fails('No such file', 'packets', path 'none')
  end)
end)
