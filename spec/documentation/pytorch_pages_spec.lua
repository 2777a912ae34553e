-- The examples of PyTorch's pages on storages, torch.frombuffer and Tensor.view(dtype), written in Lua, with the results
-- printed on those pages. docs/pytorch.md lists the corresponding names.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'

after_each(accessors.restore)

local function each_mode(body)
  for _, mode in ipairs(accessors.MODES) do
    torch.accessors(mode)
    body()
  end
end

local function text(s, format)
  local words = {}
  for i, v in s:iter() do
    words[i] = (format or '%.14g'):format(v)
  end
  return table.concat(words, ' ')
end

describe("PyTorch's page on storages", function()
  it('reads the bytes of three ones, and replaces them by zeros', function()
    each_mode(function()
      local t = torch.FloatTensor(3):fill(1)
      local s0 = t:untyped()
      assert.equal(
        '   0\n   0\n 128\n  63\n   0\n   0\n 128\n  63\n   0\n   0\n 128\n  63\n[torch.UntypedStorage of size 12]\n',
        tostring(s0)
      )
      local s1 = s0:clone()
      s1:fill(0)
      assert.equal('0 0 0 0 0 0 0 0 0 0 0 0', text(s1))
      -- A tensor does not change its storage here; a constructor makes another one.
      t = torch.FloatTensor(s1:view 'float32', t:storageOffset(), t:size(), t:stride())
      assert.same({ 0, 0, 0 }, t:totable())
      assert.equal(s1:dataptr(), t:dataptr())
    end)
  end)

  it('gives zeros for bytes of zeros', function()
    for _, v in torch.FloatStorage(3):untyped():iter() do
      assert.equal(0, v)
    end
  end)

  it('gives the same address for all views of the same memory', function()
    local t = torch.FloatStorage(4)
    assert.equal(t:untyped():dataptr(), t:view('int8'):untyped():dataptr())
    assert.is_false(t:untyped():dataptr() == t:clone():untyped():dataptr())
  end)
end)

describe("PyTorch's page on frombuffer", function()
  -- The page uses an array.array; here it is an FFI array, or an object that offers the memory of a storage.
  local function array(ctype, class, values)
    if support.luajit then
      local ffi = require 'ffi'
      local a = ffi.new(ctype .. '[' .. #values .. ']', values)
      return a, function(i)
        return a[i]
      end
    end
    local memory = class(values)
    local object = setmetatable({}, {
      __buffer = function()
        return torch.buffer(memory)
      end,
    })
    return object, function(i)
      return memory[i + 1]
    end
  end

  it('shares the memory of an array', function()
    each_mode(function()
      local a, element = array('int32_t', torch.IntStorage, { 1, 2, 3 })
      local t = torch.frombuffer(a, { dtype = 'int32' })
      assert.equal('1 2 3', text(t))
      t[1] = -1
      assert.equal(-1, element(0))
      assert.equal(2, element(1))
    end)
  end)

  it('reads four signed bytes as a number', function()
    each_mode(function()
      local a = array('int8_t', torch.CharStorage, { -1, 0, 0, 0 })
      assert.equal('255', text(torch.frombuffer(a, { dtype = 'int32' })))
    end)
  end)
end)

describe("PyTorch's page on view(dtype)", function()
  local INTEGERS = {
    { 1064483442, -1124191867, 1069546515, -1089989247 },
    { -1105482831, 1061112040, 1057999968, -1084397505 },
    { -1071760287, -1123489973, -1097310419, -1084649136 },
    { -1101533110, 1073668768, -1082790149, -1088634448 },
  }
  local FLOATS = [[
0.9482 -0.0310 1.4999 -0.5316
-0.1520 0.7472 0.5617 -0.8649
-2.4724 -0.0334 -0.2976 -0.8499
-0.2109 1.9913 -0.9607 -0.6123]]
  -- After the assignment. The page's integers and its bytes come from different runs; both give its floats, to four decimals.
  local BYTES = [[
0 202 154 59 182 243 253 188 185 252 191 63 240 22 8 191
227 165 27 190 128 72 63 63 146 203 15 63 22 106 93 191
205 59 30 192 112 206 8 189 7 95 152 190 12 147 89 191
43 246 87 190 235 226 254 63 111 240 117 191 177 191 28 191]]

  local function rows(s, width, format)
    local lines = {}
    for i = 1, #s, width do
      lines[#lines + 1] = text(s:sub(i, i + width - 1), format)
    end
    return table.concat(lines, '\n')
  end

  it('shows sixteen floats as integers and as bytes, before and after one is changed', function()
    each_mode(function()
      local y = torch.IntStorage(16)
      for row = 1, 4 do
        for column = 1, 4 do
          y[4 * (row - 1) + column] = INTEGERS[row][column]
        end
      end
      local x = y:view 'float32'
      assert.equal('torch.FloatStorage', x:type())
      assert.equal(FLOATS, rows(x, 4, '%.4f'))
      local bytes = x:view 'uint8'
      assert.equal(64, #bytes)
      for i = 1, 16 do
        local integer = y[i] % 2 ^ 32
        for index = 0, 3 do
          assert.equal(math.floor(integer / 256 ^ index) % 256, bytes[4 * i - 3 + index])
        end
      end
      assert.equal('114 186 114 63', text(bytes:sub(1, 4))) -- 1064483442 is 3F72BA72
      x:view('int32')[1] = 1000000000
      assert.equal((FLOATS:gsub('^0%.9482', '0.0047')), rows(x, 4, '%.4f'))
      assert.equal(BYTES:match '^0 202 154 59', text(bytes:sub(1, 4)))
      assert.equal('0 202 154 59', text(x:untyped():sub(1, 4)))
    end)
  end)

  it('shows the printed bytes as the printed floats after the change', function()
    each_mode(function()
      local bytes = torch.ByteStorage(64)
      local index = 0
      for byte in BYTES:gmatch '%d+' do
        index = index + 1
        bytes[index] = tonumber(byte)
      end
      local x = bytes:view 'float32'
      assert.equal((FLOATS:gsub('^0%.9482', '0.0047')), rows(x, 4, '%.4f'))
      assert.equal(1000000000, x:view('int32')[1])
      assert.equal(BYTES, rows(x:view 'uint8', 16))
      assert.equal(BYTES, rows(x:untyped(), 16))
    end)
  end)

  it('refuses bytes that are not a multiple of the element size, and names both sizes', function()
    local x = torch.ShortStorage(7)
    support.fails(
      'cannot view a torch.ShortStorage as a torch.IntStorage: its 7 elements of 2 bytes are 14 bytes, which is '
        .. 'not a multiple of the 4-byte element size',
      x.view,
      x,
      'int32'
    )
  end)
end)
