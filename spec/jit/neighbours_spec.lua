-- Loops that access several elements next to each other in each pass. On ARM64 LuaJIT joins such loads and stores, and LuaJIT of
-- 2022 does it wrongly where an address is a register minus a constant: see ELEMENT in accessor_source.lua.
local torch = require 'torch'
local types = require 'spec.support.types'

local SIZE = 400

-- Each moves elements from `s` to `t`.
local MOVES = {
  ['around i'] = function(s, t)
    for i = 3, SIZE - 1, 4 do
      t[i - 2], t[i - 1], t[i], t[i + 1] = s[i - 2], s[i - 1], s[i], s[i + 1]
    end
  end,
  ['before i, by methods'] = function(s, t)
    for i = 5, SIZE + 1, 4 do
      t:set(i - 4, s:get(i - 4)):set(i - 3, s:get(i - 3)):set(i - 2, s:get(i - 2)):set(i - 1, s:get(i - 1))
    end
  end,
  ['from the last one down'] = function(s, t)
    for i = SIZE, 4, -4 do
      t[i], t[i - 1], t[i - 2], t[i - 3] = s[i], s[i - 1], s[i - 2], s[i - 3]
    end
  end,
}

-- Only for numbers. The indices were checked when they were used first, so nothing is between the second two loads.
local function sums(s, t)
  for i = 5, SIZE + 3, 2 do
    t[i - 4] = s[i - 4] + s[i - 3]
    t[i - 3] = s[i - 4] + s[i - 3]
    t[i - 4], t[i - 3] = s[i - 4], s[i - 3]
  end
end

-- Storages, views of another class, whose elements are accessed with a call of C before or after, and tensors.
local MAKERS = {
  storage = function(T)
    return torch[T .. 'Storage'](SIZE)
  end,
  view = function(T)
    local width = types.WIDTH[T]
    local bytes = width == 1 and torch.ShortStorage(SIZE / 2) or torch.ByteStorage(SIZE * width)
    return bytes:view('torch.' .. T .. 'Storage')
  end,
  tensor = function(T)
    return torch[T .. 'Tensor'](SIZE + 8):narrow(1, 5, SIZE)
  end,
}

local function check(title, T, loops)
  it(('%s, for a %s'):format(title, T), function()
    for kind, make in pairs(MAKERS) do
      for name, loop in pairs(loops) do
        local source, target = make(T), make(T)
        for i = 1, SIZE do
          source[i] = i % 7
        end
        loop(source, target)
        for i = 1, SIZE do
          local expected = T == 'Bool' and math.min(i % 7, 1) or i % 7
          -- Of a complex number, `get` returns the real part first.
          local got = target:get(i)
          assert.equal(expected, got, ('%s of a %s: %d'):format(name, kind, i))
        end
      end
    end
  end)
end

describe('neighbouring elements', function()
  for _, list in ipairs { types.NUMBERS, types.COMPLEX } do
    for _, T in ipairs(list) do
      check('are moved in one pass of a loop', T, MOVES)
    end
  end
  for _, T in ipairs(types.NUMBERS) do
    check('are read again after a write', T, { sums = sums })
  end
end)
