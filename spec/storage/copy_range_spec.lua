-- Copies of ranges: s:copy(source, to, from, n) compared with plain tables, with errors, overlaps and compiled loops.
local torch = require 'torch'
local accessors = require 'spec.support.accessors'
local support = require 'spec.support'
local types = require 'spec.support.types'

local NONE = {} -- stands for nil in lists

-- Arguments in pairs: what is passed, and the whole number it means or the text of the error. If `counts`, negative numbers are
-- errors.
local function arguments(last, counts)
  local list =
    { { NONE }, { '2', 2 }, { 1.9, 1 }, { 'x', 'number expected, got string' }, { {}, 'number expected, got table' } }
  for n = -3, last do
    list[#list + 1] = { n, n }
    if counts and n < 0 then
      list[#list][2] = 'a size is a whole number of elements from 0 to 2^63-1, got ' .. n
    end
  end
  if support.luajit then
    list[#list + 1] = { require('ffi').new('int64_t', 2), 2 }
  end
  return list
end

-- The range that s:copy(source, to, from, n) copies between storages of these sizes, as to, from, n; or nil, the wrong
-- argument, and the reason.
local function plan(size, available, to, from, n)
  for argument, given in pairs { [2] = to, [3] = from, [4] = n } do
    if type(given) == 'string' then
      -- The first wrong argument is the one that is reported.
      for earlier = 2, argument - 1 do
        local other = ({ [2] = to, [3] = from })[earlier]
        if type(other) == 'string' then
          return nil, earlier, other
        end
      end
      return nil, argument, given
    end
  end
  if to == nil and from == nil and n == nil then
    if size ~= available then
      return nil, 1, ('size mismatch: %d elements expected, got %d'):format(size, available)
    end
    return 1, 1, size
  end
  to, from = to or 1, from or 1
  if to < 1 or to > size + 1 then
    return nil, 2, ('index out of bounds: %d is not in the range 1 to %d'):format(to, size + 1)
  elseif from < 1 or from > available + 1 then
    return nil, 3, ('index out of bounds: %d is not in the range 1 to %d'):format(from, available + 1)
  end
  n = n or available - from + 1
  if from + n - 1 > available then
    return nil, 4, ('%d elements from %d on are not in a source of %d'):format(n, from, available)
  elseif to + n - 1 > size then
    return nil, 2, ('%d elements do not fit from %d on in a storage of %d'):format(n, to, size)
  end
  return to, from, n
end

local function open(v)
  if v ~= NONE then
    return v
  end
end

local function copy(s, source, to, from, n)
  local r = s:copy(source, to, from, n)
  return r
end

-- The elements that a table would have after the copy.
local function moved(target, source, to, from, n)
  local expected = {}
  for k = 1, #target do
    local inside = k >= to and k < to + n
    expected[k] = inside and source[from + k - to] or target[k]
  end
  return expected
end

local function same(s, model)
  for k = 1, #model do
    if s[k] ~= model[k] then
      return false
    end
  end
  return #s == #model
end

local function sequence(class, first, count)
  local s = class(count)
  for k = 1, count do
    s[k] = first + k
  end
  return s
end

after_each(accessors.restore)

describe('copy with positions', function()
  it('does what a table does or reports the wrong argument, for every position and count', function()
    accessors.each(function(T, class, _, index)
      for _, other in ipairs { T, types.TORCH7[index % 8 + 1] } do
        for _, sizes in ipairs { { 3, 4 }, { 2, 2 }, { 0, 1 }, { 1, 0 } } do
          local size, available = sizes[1], sizes[2]
          local whole = sequence(class, 10, size + 2)
          local s, source = class(whole, 2, size), sequence(torch[other .. 'Storage'], 50, available)
          local old, given = whole:totable(), source:totable()
          local inner = s:totable()
          for _, to in ipairs(arguments(size + 3)) do
            for _, from in ipairs(arguments(available + 3)) do
              for _, n in ipairs(arguments(available + 2, true)) do
                local first, wrong, text = plan(size, available, to[2], from[2], n[2])
                local ok, result = pcall(copy, s, source, open(to[1]), open(from[1]), open(n[1]))
                local right
                if first then
                  right = ok and rawequal(result, s) and same(s, moved(inner, given, first, wrong, text))
                  right = right and whole[1] == old[1] and whole[size + 2] == old[size + 2]
                  for k = 1, size do
                    s[k] = inner[k]
                  end
                else
                  local message = ("bad argument #%d to 'copy' (%s"):format(wrong, text)
                  right = not ok and result:find(message, 1, true) and same(whole, old)
                end
                if not right or not same(source, given) then
                  local show = ('%s of %s: %s, %s, %s'):format(
                    T,
                    other,
                    tostring(to[1]),
                    tostring(from[1]),
                    tostring(n[1])
                  )
                  error(show .. ': ' .. tostring(result), 0)
                end
              end
            end
          end
        end
      end
    end)
  end)

  it('converts like a copy without positions, for all pairs of classes', function()
    accessors.each(function(T, class, width)
      for _, D in ipairs(types.TORCH7) do
        local source = torch.DoubleStorage { -1, 2.7, 300, 65537.5, -3e9, 0 / 0, 1 / 0, 0.5 }:type(D .. 'Storage')
        local expected = class(8):copy(source):string()
        local s = class(12):fill(1)
        local one = s:string(1, 1)
        s:copy(source, 3, 2, 6)
        assert.is_true(s:string() == one:rep(2) .. expected:sub(width + 1, 7 * width) .. one:rep(4), T .. ' of ' .. D)
      end
    end)
  end)

  it('within one storage behaves as if the source had been read first', function()
    accessors.each(function(T, class)
      local s = sequence(class, 0, 9)
      local model = s:totable()
      for to = 1, 9 do
        for from = 1, 9 do
          for n = 0, 10 - math.max(to, from) do
            s:copy(s, to, from, n)
            local expected = moved(model, model, to, from, n)
            assert.is_true(same(s, expected), T)
            -- The same through views of the storage, at other offsets.
            s = sequence(class, 0, 9)
            s:sub(to):copy(s:sub(from), 1, 1, n)
            assert.is_true(same(s, expected), T)
            s = sequence(class, 0, 9)
          end
        end
      end
    end)
  end)

  it('between classes over the same memory behaves as if the source had been read first', function()
    local bytes = {}
    for k = 1, 64 do
      bytes[k] = string.char(k * 37 % 256)
    end
    bytes = table.concat(bytes)
    accessors.each(function(T, class)
      for _, D in ipairs(types.TORCH7) do
        local memory, twin = torch.ByteStorage():string(bytes), torch.ByteStorage(64)
        local function view(of, base)
          return of(64 / of.elementSize(), base:data())
        end
        local target, source = view(class, memory), view(torch[D .. 'Storage'], memory)
        local apart = view(class, twin)
        for to = 1, #target, math.max(1, #target / 8) do
          for from = 1, #source, math.max(1, #source / 8) do
            for n = 0, math.min(#target - to, #source - from) + 1, 3 do
              memory:rawcopy(twin:copy(torch.ByteStorage.fromstring(bytes)))
              apart:copy(source:clone(), to, from, n)
              target:copy(source, to, from, n)
              if memory:string() ~= twin:string() then
                error(('%s of %s: %d, %d, %d'):format(T, D, to, from, n))
              end
            end
          end
        end
      end
    end)
  end)

  it('gives the same result in a compiled loop', function()
    local function build()
      return function(class, other)
        local s, source = sequence(class, 0, 20), sequence(other, 60, 10)
        local failures = 0
        for k = 1, 400 do
          s:copy(source, k % 12 + 1, k % 10 + 1, math.min(k % 7, 10 - k % 10))
          s:copy(s, k % 5 + 1, k % 9 + 1, k % 11)
          source:copy(s, nil, k % 10 + 1, 10)
          if not pcall(s.copy, s, source, k % 25) then
            failures = failures + 1
          end
        end
        return failures .. ' ' .. table.concat(s:totable(), ' ') .. table.concat(source:totable(), ' ')
      end
    end
    local jit = rawget(_G, 'jit')
    local interpreted, compiled = build(), build()
    if jit then
      jit.off(interpreted, true)
    end
    accessors.each(function(T, class)
      for _, D in ipairs(types.TORCH7) do
        local expected = interpreted(class, torch[D .. 'Storage'])
        assert.equal(expected, compiled(class, torch[D .. 'Storage']), T .. ' of ' .. D)
      end
    end)
  end)
end)
