-- Values that pretend to be tensors are refused by the functions that access elements. Each test runs in a child process.
local hostile = require 'spec.support.hostile'

-- `each(f)` calls f(metatable, T) for all classes of tensors. `attack(metatable, v)` gives `v` to all functions of a class that
-- access elements, which have to refuse it.
local PRELUDE = [[
  local classes = {}
  for _, T in ipairs(EVERY) do
    classes[#classes + 1] = { torch.getmetatable('torch.' .. T .. 'Tensor'), T }
  end
  local function tensor(T) return torch[T .. 'Tensor'](3, 4) end
  local function each(f)
    for _, class in ipairs(classes) do f(class[1], class[2]) end
  end
  local function attack(metatable, v)
    for i = 1, 100 do
      assert(not pcall(metatable.__index, v, 1))
      assert(not pcall(metatable.__index, v, { 1, i % 5 }))
      assert(not pcall(metatable.__newindex, v, 1, 1))
      assert(not pcall(metatable.__newindex, v, { 1, i % 5 }, 1))
      assert(not pcall(metatable.get, v, 1, i % 5))
      assert(not pcall(metatable.get, v, 1))
      assert(not pcall(metatable.set, v, 1, i % 5, 1))
      assert(not pcall(metatable.set, v, 1, i % 5, 1, 1))
      assert(not pcall(metatable.dim, v))
      assert(not pcall(metatable.size, v, 1))
      assert(not pcall(metatable.nElement, v))
    end
  end
  -- What tensors do afterwards.
  local function check()
    each(function(metatable, T)
      local x = tensor(T)
      if T:find 'Complex' then
        x:set(2, 3, 1, 0)
      else
        x:set(2, 3, 1)
      end
      assert(x:get(2, 3) == 1 and x:size(2) == 4 and x:dim() == 2 and x.get == metatable.get)
    end)
  end
]]

local function test(title, source)
  hostile.test(title, PRELUDE .. source .. '\ncheck()')
end

describe('a fake tensor #process', function()
  test(
    'can be an object that names a class in __metatable',
    [[
      each(function(metatable)
        local plain = newproxy(true)
        getmetatable(plain).__metatable = metatable
        local full = newproxy(true)
        for name, field in pairs(metatable) do getmetatable(full)[name] = field end
        getmetatable(full).__metatable = metatable
        for _, v in ipairs { plain, full, newproxy(full) } do
          assert(getmetatable(v) == metatable and not torch.isTensor(v))
          attack(metatable, v)
          calm(function() return v[1] end)
          calm(function() v[1] = 1 end)
        end
      end)
    ]]
  )

  test(
    'can be a string, whose getmetatable gives a class',
    [[
      local strings = getmetatable ''
      each(function(metatable)
        strings.__metatable = metatable
        for _, text in ipairs { '', 'x', ('\0'):rep(16), ('\255'):rep(200), ('x'):rep(100000) } do
          attack(metatable, text)
        end
        strings.__metatable = nil
      end)
    ]]
  )

  -- Sets the metatable of a class for a value with debug.setmetatable, and removes it after each round.
  for _, kind in ipairs {
    "('\\0'):rep(16)",
    '5',
    'nil',
    'true',
    'math.abs',
    'coroutine.create(function() end)',
    'light',
    'io.stdout',
    'newproxy()',
    'newproxy(true)',
    '{}',
    'torch.IntTensor',
    'insides[1]',
    'new "Byte"',
    'new "Double"',
    'torch.ByteTensor(100)',
    'torch.DoubleTensor(3, 4)',
    'torch.HalfTensor(3, 4)',
  } do
    test(
      'can be ' .. kind .. ' with the metatable of a class',
      ([[
        each(function(metatable)
          local v = %s
          local before = debug.getmetatable(v)
          if before ~= metatable then
            debug.setmetatable(v, metatable)
            local ok, message = pcall(attack, metatable, v)
            debug.setmetatable(v, before)
            assert(ok, message)
          end
        end)
      ]]):format(kind)
    )
  end

  test(
    'meets a compiled loop',
    [[
      each(function(metatable, T)
        local function get(v, j) return (v:get(2, j)) end
        local function list(v, j) return v[{ 2, j }] end
        local function write(v, j) v[{ 2, j }] = 1 end
        local hot = tensor(T)
        local borrowed = tensor(T == 'Byte' and 'Double' or 'Byte')
        local storage = new 'Double'
        local file, collected = io.tmpfile(), tensor(T)
        local before = debug.getmetatable(file)
        for _, v in ipairs { borrowed, storage, file } do debug.setmetatable(v, metatable) end
        metatable.__gc(collected)
        for _, f in ipairs { get, list, write } do
          for _, v in ipairs { borrowed, storage, file, collected } do
            for round = 1, 3 do
              for k = 1, 120 do
                local x = k == 100 and v or hot
                local ok = pcall(f, x, 3)
                assert(ok == (k ~= 100))
              end
            end
          end
        end
        debug.setmetatable(file, before)
        debug.setmetatable(storage, torch.getmetatable 'torch.DoubleStorage')
        debug.setmetatable(borrowed, torch.getmetatable(torch.typename(borrowed)))
      end)
    ]]
  )
end)
