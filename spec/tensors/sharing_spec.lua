-- Tokens of tensors: what they carry, in one Lua state and between several, and texts that somebody has changed.
local torch = require 'torch.storage'
local support = require 'spec.support'
local host = require 'spec.support.host'
local types = require 'spec.support.types'

local fails = support.fails
local L = torch.LongStorage

local function held()
  support.collect()
  local sum = 0
  for _, bytes in pairs(torch.memory()) do
    sum = sum + bytes
  end
  return sum
end

local function sequence(...)
  local x = torch.DoubleTensor(...)
  for i = 1, #x:storage() do
    x:storage()[i] = i
  end
  return x
end

describe('a token of a tensor', function()
  it('gives a tensor of the same storage, offset, sizes and strides, once', function()
    local x = sequence(3, 4)
    local tensors = {
      x,
      x:t(),
      x:select(1, 2),
      x:narrow(2, 2, 2),
      x:select(1, 3):view(2, 1, 2),
      torch.DoubleTensor(x:storage(), 12, L { 3, 2 }, L { -4, -1 }),
      torch.DoubleTensor(x:storage(), 3, L { 1000, 2 }, L { 0, 1 }),
      x:narrow(1, 2, 0),
      torch.DoubleTensor(x:storage(), 5, L(), L()),
      torch.DoubleTensor(2 ^ 40, 0),
    }
    local ones = {}
    for d = 1, 64 do
      ones[d] = 1
    end
    tensors[#tensors + 1] = torch.DoubleTensor(x:storage(), 1, ones)
    for _, y in ipairs(tensors) do
      local token = y:token()
      assert.matches('^[%w:-]+$', token)
      local got = torch.fromToken(token)
      assert.is_true(got:isSetTo(y))
      assert.equal(x:type(), got:type())
      assert.is_true(got:storage() == y:storage())
      fails('the token was already taken or dropped', torch.fromToken, token)
      fails('the token was already taken or dropped', torch.dropToken, token)
    end
    torch.fromToken(x:t():token()):fill(7)
    assert.equal(7, x:get(3, 4))
  end)

  it('works for every class', function()
    for _, T in ipairs(types.ALL) do
      if T ~= 'Untyped' then
        local x = torch[T .. 'Tensor'](2, 3):fill(1)
        local y = torch.fromToken(x:t():token())
        assert.is_true(y:equal(x:t()))
        assert.equal(('torch.%sTensor'):format(T), torch.typename(y))
      end
    end
    assert.same({ 0 }, torch.fromToken(torch.IntTensor():token()):size():totable())
  end)

  it('holds the storage until it is taken or dropped', function()
    local before = held()
    local token = torch.DoubleTensor(100, 10):fill(3):token()
    assert.equal(before + 8000, held())
    local x = torch.fromToken(token)
    fails('a token or a publication holds the storage', function()
      token = x:token()
      x:storage():resize(1)
    end)
    x = nil -- luacheck: ignore
    assert.equal(before + 8000, held())
    torch.dropToken(token)
    fails('already taken or dropped', torch.dropToken, token)
    assert.equal(before, held())
  end)

  it('is none without the memory that it needs', function()
    local x = sequence(2, 3)
    x:storage():resize(5)
    fails('uses elements 1 to 6 of its storage, which has 5', x.token, x)
    x:storage():resize(6)
    torch.dropToken(x:token())
    fails('torch.DoubleTensor expected, got torch.DoubleStorage', x.token, x:storage())
    fails('methods are called with a colon', x.token)
  end)

  if support.luajit then
    it('is none over memory of this Lua state', function()
      local ffi = require 'ffi'
      local array = ffi.new('double[6]', 5)
      local x = torch.DoubleStorage(6, array):view(2, 3)
      local text = support.failure(x.token, x)
      assert.equal(text, support.failure(x:storage().token, x:storage()))
      assert.equal(5, x:get(2, 3))
    end)
  end
end)

describe('a changed text of a token', function()
  -- Every changed text is refused, and the true text stays good.
  local function refused(token, changed, text)
    -- Since Lua 5.2, a function that was not called by its name is looked up in the loaded packages.
    local message = support.failure(torch.fromToken, changed):gsub("to 'torch%.%a+%.", "to '")
    message = message:gsub("to '[?%a]*'", "to '?'")
    assert.equal(1, message:find("bad argument #1 to '?' (" .. text, 1, true), message)
    assert.is_true(pcall(torch.fromToken, token))
  end

  it('that asks for elements that the storage does not have is refused, and the token stays good', function()
    local x = sequence(2, 3)
    for _, shape in ipairs {
      '0:2x4:3x1',
      '1:2x3:3x1',
      '0:2x3:-3x1',
      '2:2x2:-3x1',
      '5:2:1',
      '6::',
      '0:7:1',
      '0:2x3:3x9223372036854775807',
    } do
      local token = x:token()
      refused(
        token,
        token:gsub(':0:2x3:3x1$', ':' .. shape),
        shape == '6::' and 'the element is number 7' or 'the tensor of '
      )
    end
    local token = x:token()
    refused(token, token:gsub(':0:2x3:3x1$', ':0:2x3:3'), 'there is a stride for each size')
    token = x:token()
    refused(token, token:gsub(':0:2x3:3x1$', ':0:' .. ('9'):rep(19) .. 'x9:1x1'), 'a tensor of ')
    token = x:token()
    local many = ('1x'):rep(64) .. '1'
    refused(token, token:gsub(':0:2x3:3x1$', ':0:' .. many .. ':' .. many), 'a tensor can have at most 64 dimensions')
  end)

  it('that is not a shape is not a token', function()
    local x = sequence(2, 3)
    local shapes = {
      '',
      ':',
      '::',
      '0',
      '0:2x3',
      '0:2x3:3x1:',
      '0:2x3:3x1:0',
      '-1:2x3:3x1',
      '0:2x:3x1',
      '0:x:3x1',
      '0:2x3:3x+1',
      '+0:2x3:3x1',
    }
    for _, shape in ipairs(shapes) do
      local token = x:token()
      local changed = token:gsub(':0:2x3:3x1$', ':' .. shape)
      refused(token, changed, 'this is not a token')
    end
    for _, shape in ipairs {
      '0:2 x3:3x1',
      '0:2x3:3x1 ',
      '0:2,3:3,1',
      '0:2X3:3x1',
      '0:-2x3:3x1',
      '0:2x3:3x1.0',
      '0:2e0:1',
      '0:99999999999999999999:1',
      '0:2x3:3x1\0',
    } do
      local token = x:token()
      local changed = token:gsub(':0:2x3:3x1$', ':' .. shape)
      refused(token, changed, 'this is not a token')
      fails('this is not a token', torch.dropToken, changed)
    end
  end)

  it('may ask for another shape of the storage, and a storage for a tensor', function()
    local x = sequence(2, 3)
    local y = torch.fromToken((x:token():gsub(':0:2x3:3x1$', ':5:6:-1')))
    assert.equal('torch.DoubleTensor', y:type())
    assert.same({ 6, 1 }, { y:get(1), y:get(6) })
    local s = torch.fromToken((x:token():gsub(':0:2x3:3x1$', '')))
    assert.is_true(s == x:storage())
    assert.equal(4, torch.fromToken(s:token() .. ':3:2:1'):get(1))
    torch.dropToken((x:token():gsub('2x3', '200x3')))
  end)

  it('cannot make a tensor of bytes without a type', function()
    local bytes = torch.UntypedStorage(8)
    local token = bytes:token()
    fails('there are no tensors of bytes without a type', torch.fromToken, token .. ':0:8:1')
    assert.is_true(torch.fromToken(token) == bytes)
  end)

  it('from another process is refused', function()
    local token = sequence(2, 3):token()
    fails('process', torch.fromToken, (token:gsub(':%d+:', ':1:', 1)))
    assert.equal(6, torch.fromToken(token):get(2, 3))
  end)
end)

describe('tensors of several Lua states #process', function()
  it('pass from one to the next with their shapes', function()
    local output = host.run(
      4,
      [[
      local following = me % count + 1
      meet()
      if me == 1 then
        local x = torch.IntStorage(12):view(3, 4)
        for i = 1, 12 do x:storage()[i] = i end
        send(following, x:t():narrow(1, 2, 2):token())
        x:fill(0)
        local y = torch.fromToken(receive())
        equal('torch.IntTensor', y:type())
        equal('2 3', table.concat(y:size():totable(), ' '))
        equal(true, y:storage() == x:storage())
        y:fill(9)
        equal('0 9 9 0 0 9 9 0 0 9 9 0', table.concat(x:storage():totable(), ' '))
        print('back')
      else
        local text = receive()
        refuses('uses elements', torch.fromToken, (text:gsub('2x3', '2x300')))
        local x = torch.fromToken(text)
        refuses('already taken', torch.fromToken, text)
        send(following, x:token())
      end
      collect()
      meet()
    ]]
    )
    assert.equal('back', output)
  end)

  it('leave nothing behind if their tokens are taken by one of several', function()
    host.run(
      4,
      [[
      local first
      for i = 1, 2000 do
        local x = torch.DoubleTensor(2, 3):fill(i)
        send(me % count + 1, x:t():token())
        local y = torch.fromToken(receive())
        equal('3 2', table.concat(y:size():totable(), ' '))
        equal(y:get(1, 1), y:get(3, 2))
        torch.dropToken(y:token())
      end
      meet()
    ]]
    )
  end)
end)
