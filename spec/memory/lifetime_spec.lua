-- Lifetimes of memory: views whose parent changes or goes away, and copies that stay inside their storages.
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()

-- A small size, one page and more, and one so large that the allocator maps it separately.
local SIZES = { 6, 1500, 60000 }

local function value(i)
  return i * 7 % 100
end

local function numbered(T, size)
  local t = {}
  for i = 1, size do
    t[i] = value(i)
  end
  return torch[T .. 'Storage'](t)
end

-- Allocates memory of about that size and fills it, so that a view of freed memory would show 119s.
local function churn(T, size)
  local kept = {}
  for i, n in ipairs { size, size, size - 1, size + 1, math.floor(size / 2), 2 * size } do
    for j = 1, 3 do
      kept[3 * i + j] = torch[T .. 'Storage'](n):fill(119)
    end
  end
  return kept
end

local function untouched(kept)
  for _, s in pairs(kept) do
    if not s:equal(s:clone():fill(119)) then
      return false
    end
  end
  return true
end

-- Everything that can happen to the parent of a view. Each is followed by other allocations.
local events = {
  ['grew'] = function(s)
    s:resize(3 * #s)
  end,
  ['shrank'] = function(s)
    s:resize(2)
  end,
  ['was emptied'] = function(s)
    s:resize(0)
  end,
  ['shrank and grew'] = function(s)
    local size = #s
    s:resize(1):resize(size + 5)
  end,
  ['got capacity'] = function(s)
    s:reserve(4 * #s)
  end,
  ['was freed'] = function(s)
    s:free()
  end,
  ['was retained, and freed twice'] = function(s)
    s:retain()
    s:free()
    s:free()
  end,
  ['was finalised by hand'] = function(s)
    getmetatable(s).__gc(s)
  end,
  ['was taken over by another userdata'] = function(s)
    s:retain()
    torch.pushudata(torch.pointer(s), torch.typename(s)):resize(0):free()
    s:free()
  end,
}

local function names(t)
  local sorted = {}
  for name in pairs(t) do
    sorted[#sorted + 1] = name
  end
  table.sort(sorted)
  return sorted
end

-- Views of s and views of those views, each with the index of its first element in s.
local function views_of(s)
  local new, size = s.new, #s
  local all, rest, middle = new(s), new(s, 2), new(s, 2, size - 2)
  return {
    { all, 0 },
    { rest, 1 },
    { middle, 1 },
    { new(rest, 2), 2 },
    { new(new(middle, 2), 2, size - 4), 3 },
    { new(s, size), size - 1 },
    { new(s, size + 1), size },
  }
end

-- Compares every element of every view with the elements of the parent when the views were made.
local function check_views(views, context)
  for n, view in ipairs(views) do
    local v, first = unpack(view)
    local t = v:totable()
    for i = 1, #v do
      if t[i] ~= value(first + i) then
        error(('%s: view %d has %s at %d, expected %d'):format(context, n, t[i], i, value(first + i)), 2)
      end
    end
  end
end

describe('a view', function()
  for _, T in ipairs(types.TORCH7) do
    it('keeps its elements whatever happens to its parent: ' .. T, function()
      for _, event in ipairs(names(events)) do
        for _, size in ipairs(SIZES) do
          local context = ('%d elements, the parent %s'):format(size, event)
          local s = numbered(T, size)
          local views = views_of(s)
          events[event](s)
          local kept = churn(T, size)
          check_views(views, context)
          -- They are still views of the same elements, which nobody else uses.
          local all, middle = views[1][1], views[3][1]
          views[5][1][1] = 55
          assert.equal(55, all[4], context)
          assert.equal(55, middle[3], context)
          all:fill(66)
          assert.equal(66, views[6][1][1], context)
          assert.is_true(untouched(kept), context)
        end
      end
    end)
  end

  it('keeps its elements when its parent is set to a string', function()
    for _, T in ipairs { 'Byte', 'Char' } do
      for _, size in ipairs(SIZES) do
        for _, length in ipairs { 0, 1, size - 1, size + 1, 5 * size } do
          local s = numbered(T, size)
          local views = views_of(s)
          s:string(('x'):rep(length))
          local kept = churn(T, size)
          check_views(views, T .. ' ' .. size .. ' to ' .. length)
          views[1][1]:fill(66)
          assert.equal(('x'):rep(length), s:string())
          assert.is_true(untouched(kept))
        end
      end
    end
  end)

  it('no longer changes its parent after the parent has moved away', function()
    for _, T in ipairs(types.TORCH7) do
      for _, size in ipairs(SIZES) do
        local s = numbered(T, size)
        local before = s.new(s)
        s:resize(size + 3)
        local after = s.new(s)
        before:fill(66)
        assert.equal(value(1), s[1], T)
        assert.equal(value(size), s[size], T)
        assert.equal(0, s[size + 3], T)
        after:fill(77)
        assert.equal(77, s[size + 3], T)
        s:resize(2)
        s:fill(88)
        assert.equal(66, before[size], T)
        assert.equal(77, after[size], T)
        assert.same({ 88, 88 }, s:totable())
      end
    end
  end)

  it('still shares the memory of its parent after a resize that changes nothing or fails', function()
    for _, T in ipairs(types.TORCH7) do
      local s = numbered(T, 6)
      local v = s.new(s, 2)
      s:resize(6)
      assert.is_false(pcall(s.resize, s, 2 ^ 62))
      assert.is_false(pcall(s.resize, s, 2 ^ 55))
      assert.is_false(pcall(s.reserve, s, 2 ^ 55))
      assert.is_false(pcall(v.resize, v, 3))
      v[1] = 99
      assert.equal(99, s[2], T)
    end
  end)

  it('keeps the memory alive alone, and releases it', function()
    support.collect()
    local base = torch.memory().heap
    local s = torch.DoubleStorage(100000):fill(5)
    local w = torch.DoubleStorage(torch.DoubleStorage(s, 10), 10, 3)
    s:free()
    support.collect()
    assert.same({ 5, 5, 5 }, w:totable())
    assert.equal(800000, torch.memory().heap - base)
    w:free()
    support.collect()
    assert.equal(base, torch.memory().heap)
  end)

  it('of a map or of a pointer keeps the memory alive as well', function()
    local name = support.spit(path 'f', ('0123456789'):rep(1000))
    for _, shared in ipairs { false, true } do
      local s = torch.ByteStorage(name, shared)
      local v = torch.ByteStorage(torch.ByteStorage(s, 11, 20), 2, 9)
      s:free()
      s = torch.ByteStorage(name, shared)
      s:free()
      support.collect()
      assert.equal('123456789', v:string())
      assert.equal(name, v:filename())
      v[1] = 49
    end
    local owner = torch.ByteStorage():string 'abcdef'
    local foreign = torch.ByteStorage(6, owner:data())
    local v = torch.ByteStorage(foreign, 3)
    foreign:free()
    assert.equal('cdef', v:string())
    assert.equal('abcdef', owner:string())
  end)

  it('can be one of ten thousand views of views', function()
    local s = torch.IntStorage(20000):fill(3)
    local v = s
    for _ = 1, 10000 do
      v = torch.IntStorage(v, 2)
    end
    s[10001] = 4
    s:resize(0)
    support.collect()
    assert.equal(10000, #v)
    assert.equal(4, v[1])
    assert.equal(3, v[10000])
  end)
end)

-- The elements around a view, which a copy of the wrong size would overwrite or reveal.
describe('copy', function()
  for _, D in ipairs(types.TORCH7) do
    it('stays inside its two storages, into ' .. D, function()
      for _, S in ipairs(types.TORCH7) do
        local whole = torch[D .. 'Storage'](64):fill(17)
        local source = torch[S .. 'Storage'](64):fill(33)
        for _, size in ipairs { 0, 1, 3, 16, 31 } do
          for _, other in ipairs { 0, 1, 3, 16, 31 } do
            whole:fill(17)
            local destination = torch[D .. 'Storage'](whole, 17, size)
            local ok, message = pcall(destination.copy, destination, torch[S .. 'Storage'](source, 9, other):fill(21))
            assert.equal(size == other, ok, S)
            if not ok then
              assert.is_truthy(message:find('size mismatch', 1, true), message)
            end
            local t = whole:totable()
            for i = 1, 64 do
              local inside = ok and i >= 17 and i < 17 + size
              if t[i] ~= (inside and 21 or 17) then
                error(('%s into %s, %d into %d: element %d is %s'):format(S, D, other, size, i, t[i]))
              end
            end
          end
        end
      end
    end)
  end

  -- Compared with a table, for all distances in both directions.
  it('is right for every overlap of two views', function()
    for _, T in ipairs(types.TORCH7) do
      for _, size in ipairs { 1, 2, 7, 40, 90 } do
        for distance = -9, 9 do
          local s = numbered(T, 120)
          local expected = s:totable()
          local from, to = 12, 12 + distance
          local moved = {}
          for i = 0, size - 1 do
            moved[to + i] = expected[from + i]
          end
          for i, v in pairs(moved) do
            expected[i] = v
          end
          s.new(s, to, size):copy(s.new(s, from, size))
          assert.same(expected, s:totable(), ('%s: %d by %d'):format(T, size, distance))
        end
      end
    end
  end)

  it('is right for overlaps of megabytes', function()
    for _, distance in ipairs { -4096, -1, 1, 4097, 300000 } do
      local size = 600000
      local s = torch.IntStorage(size + 700000)
      for i = 1, #s do
        s[i] = i
      end
      s.new(s, 300001 + distance, size):copy(s.new(s, 300001, size))
      local expected = torch.IntStorage(size)
      for i = 1, size do
        expected[i] = 300000 + i
      end
      assert.is_true(s.new(s, 300001 + distance, size):equal(expected), distance)
      assert.equal(300000 + distance, s[300000 + distance])
      assert.equal(300001 + distance + size, s[300001 + distance + size])
    end
  end)
end)
