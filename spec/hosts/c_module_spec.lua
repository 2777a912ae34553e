-- examples/c/stats.c, a module in C: compiled as C99 and as C++17, run, and run under valgrind.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local c_module = require 'spec.support.c_module'

local SOURCE = 'examples/c/stats.c'
local HELD = 'C or Rust code of this program holds the storage: its memory cannot move'

local missing = c_module.missing()
local it = missing and function(title)
  require('busted').pending(title .. ': ' .. missing)
end or require('busted').it

describe('examples/c/stats.c #process', function()
  local path = support.temporary()
  local library, stats

  setup(function()
    library = os.tmpname()
    if not missing then
      stats = c_module.open(SOURCE, 'stats', library)()
    end
  end)
  teardown(function()
    os.remove(library)
  end)

  it('is C99 and C++17 without warnings', function()
    for _, command in ipairs { 'cc -std=c99', 'cc -std=c17', 'c++ -x c++ -std=c++17', 'c++ -x c++ -std=c++20' } do
      if support.sh('command -v ' .. command:match '^%S+') ~= '' then
        local messages, status = c_module.compile(SOURCE, path 'stats.so', '', command)
        assert.equal(0, status, command .. ': ' .. messages)
        assert(package.loadlib(path 'stats.so', 'luaopen_stats'))
      end
    end
  end)

  it('says how to compile it, and what it prints then', function()
    local text = support.slurp(SOURCE)
    local command = text:match '\n %*   (cc [^\n]+)\n'
    local program, result = text:match '\n %*   (local torch, stats[^\n]+)\n[^\n]-(print%([^\n]+)'
    program, result = program .. '\n' .. result:match '^(.-) *%-%->', result:match '%-%-> (%S+)'
    local cwd = support.sh 'pwd'
    command = command:gsub('/usr/include/lua5.1', function()
      return (c_module.headers())
    end)
    command = command:gsub('%.%./%.%./include', cwd .. '/include'):gsub('stats%.c$', cwd .. '/' .. SOURCE)
    local messages, status = support.execute(("cd '%s' && %s"):format(path(), command))
    assert.equal(0, status, messages)
    local output = support.child(("package.cpath = '%s/?.so;' .. package.cpath\n%s"):format(path(), program))
    assert.equal(result, output)
  end)

  it('adds floats and doubles of storages and contiguous tensors', function()
    assert.equal(6.5, stats.sum(torch.FloatStorage { 1, 2, 3.5 }))
    assert.equal(0, stats.sum(torch.DoubleStorage()))
    assert.equal(12, stats.sum(torch.DoubleTensor(2, 3):fill(2)))
    support.fails('floats or doubles expected, got torch.IntStorage', stats.sum, torch.IntStorage(1))
    support.fails('x:contiguous()', stats.sum, torch.FloatTensor(2, 3):t())
    support.fails('torch.*Storage or contiguous torch.*Tensor expected, got string', stats.sum, 'x')
    local odd = torch.FloatStorage.frombuffer(torch.ByteStorage(9), { offset = 1, count = 2 })
    support.fails('not aligned', stats.sum, odd)
  end)

  it('changes elements in place', function()
    local s = torch.FloatStorage { 1, 2, 3 }
    assert.is_true(rawequal(s, stats.scale(s, 2)))
    assert.same({ 2, 4, 6 }, s:totable())
    support.fails('read-only', stats.scale, torch.FloatStorage.frombuffer(('x'):rep(8)), 2)
    support.fails('s:float() converts it', stats.scale, torch.DoubleStorage(1), 2)
    support.fails('number expected', stats.scale, s, {})
  end)

  it('makes new storages', function()
    local counts = stats.histogram(torch.FloatStorage { 0, 1, 2, 2.5, 9, -1, 0 / 0 }, 3, 0, 3)
    assert.equal('torch.LongStorage', torch.type(counts))
    assert.same({ 1, 1, 2 }, counts:totable())
    support.fails('1 to 1e9 bins expected', stats.histogram, torch.FloatStorage(1), 0, 0, 1)
    support.fails('got torch.IntStorage', stats.histogram, torch.IntStorage(1), 5, 0, 1)
  end)

  it('reads tensors by their strides', function()
    local x = torch.DoubleTensor { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }
    assert.equal(15, stats.trace(x))
    assert.equal(15, stats.trace(x:t()))
    assert.equal(14, stats.trace(x:narrow(1, 2, 2):narrow(2, 2, 2)))
    support.fails('two dimensions expected', stats.trace, torch.DoubleTensor(3))
  end)

  it('hands memory of C over', function()
    support.collect()
    local before = torch.memory().foreign
    local ramp = stats.ramp(5, 1, 0.5)
    assert.same({ 1, 1.5, 2, 2.5, 3 }, ramp:totable())
    assert.equal(20, torch.memory().foreign - before)
    assert.equal(10, stats.sum(ramp))
    ramp:free()
    assert.equal(before, torch.memory().foreign)
  end)

  it('adds in another thread, while the storage cannot move', function()
    local s = torch.DoubleStorage(1e6):fill(2)
    local job = stats.start(s)
    support.fails(HELD, s.resize, s, 1)
    assert.equal(2e6, job:wait())
    s:resize(5)
    assert.equal(2e6, job:wait())
    -- A storage that is freed in Lua lives as long as the job, and a job that is collected waits for its thread.
    support.collect()
    local before = torch.memory().heap
    local other = torch.DoubleStorage(1e6):fill(3)
    stats.start(other)
    other:free()
    assert.is_true(torch.memory().heap - before <= 8e6)
    support.collect()
    assert.equal(before, torch.memory().heap)
    support.fails('its memory belongs to a Lua value', stats.start, torch.DoubleStorage.frombuffer(('x'):rep(64)))
    support.fails('a job expected', stats.start(torch.DoubleStorage(1)).wait, s)
  end)

  it('leaves no error in valgrind', function()
    if support.sh 'command -v valgrind' == '' then
      require('busted').pending 'valgrind is not installed'
      return
    end
    support.spit(
      path 'program.lua',
      ([[
        local torch, stats = require 'torch', assert(package.loadlib(%q, 'luaopen_stats'))()
        assert(stats.sum(torch.FloatStorage { 1, 2 }) == 3)
        assert(not pcall(stats.sum, torch.FloatTensor(2, 3):t()))
        assert(not pcall(stats.scale, torch.FloatStorage.frombuffer 'four', 2))
        assert(stats.histogram(torch.FloatStorage { 1, 2 }, 4, 0, 4)[3] == 1)
        assert(stats.ramp(100, 0, 1)[100] == 99)
        local jobs = {}
        for i = 1, 4 do
          local s = torch.DoubleStorage(1000):fill(i)
          jobs[i] = stats.start(s)
          s:free()
        end
        assert(jobs[2]:wait() == 2000)
        stats.ramp(10, 0, 1):token()
      ]]):format(library)
    )
    -- The interpreter may be a script that starts another program.
    local command =
      'valgrind --quiet --trace-children=yes --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite '
    local output, status = support.execute(('%s %s %s'):format(command, support.interpreter, path 'program.lua'))
    assert.equal(0, status, output)
  end)
end)
