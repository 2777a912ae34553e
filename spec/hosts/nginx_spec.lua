-- nginx with its Lua module: a storage shared in init_by_lua, before the workers are forked, is the same storage in all of
-- them. Reloads and exits of any kind leave nothing behind. Each test starts a real nginx (spec/support/nginx_host.lua).
-- Interpreters: luajit, lua5.1
local torch = require 'torch'
local support = require 'spec.support'
local nginx_host = require 'spec.support.nginx_host'
local processes = require 'spec.support.processes'
local program = require 'spec.support.program'

local WORKERS = 3
local SIZE = 30000
local test, test_once = program.tests(nginx_host.missing)
local name

local root = support.sh 'id -u' == '0'

local function listed()
  for _, entry in ipairs(torch.sharedMemory()) do
    if entry.name == name then
      return entry
    end
  end
end

-- The storages of all workers: `anonymous`, and `named`, whose integers are kept over reloads.
local function init()
  return ([[
    local torch = require 'torch'
    anonymous = torch.DoubleStorage(%d):shareMemory()
    named = torch.LongStorage(%q, true, %d, true)
  ]]):format(SIZE, name, SIZE)
end

local server
local function start(...)
  server = nginx_host.start(...)
  return server
end

describe('a storage of all nginx workers #process', function()
  before_each(function()
    name = processes.name()
    server = nil
  end)
  after_each(function()
    if server then
      server:stop()
    end
    processes.clean()
  end)

  test('shows each worker what the others and other processes write', function()
    -- As a system starts nginx: init_by_lua runs in a process that forks the master and exits.
    start(init(), (nginx_host.CONFIGURATION:gsub('daemon off;\n', '')))
    local part = SIZE / WORKERS
    for worker = 0, WORKERS - 1 do
      local code = ([[
        local first, last, id = %d, %d, ngx.worker.id()
        for i = first, last do
          anonymous[i] = i + id / 4
          named[i] = 2 * i + id
        end
        return torch.accessors() .. ' ' .. ngx.worker.pid()
      ]]):format(worker * part + 1, (worker + 1) * part, worker)
      code = "local torch = require 'torch'\n" .. code
      local accessors, pid = server:eval(code, worker):match '^(%l+) (%d+)$'
      assert.equal('ffi', accessors)
      assert.is_truthy(table.concat(server:workers(), ' '):find(pid, 1, true))
    end
    local check = ([[
      for i = 1, %d do
        local id = math.floor((i - 1) / %d)
        if anonymous[i] ~= i + id / 4 or named[i] ~= 2 * i + id then
          return 'element ' .. i .. ' is ' .. anonymous[i] .. ' and ' .. named[i]
        end
      end
      local torch = require 'torch'
      return torch.memory().shared .. ' ' .. tostring(anonymous:isShared() and named:isShared()) .. ' ' .. named:filename()
    ]]):format(SIZE, part)
    for worker = 0, WORKERS - 1 do
      assert.equal(('%d true %s'):format(2 * 8 * SIZE, name), server:eval(check, worker))
    end
    -- This process writes and the workers read.
    local here = torch.LongStorage(name, true, nil, true)
    assert.equal(SIZE, #here)
    assert.equal(2 * SIZE + WORKERS - 1, here[SIZE])
    here[5] = -77
    for worker = 0, WORKERS - 1 do
      assert.equal('-77', server:eval('return named[5]', worker))
    end
    assert.equal('', server:stop())
    assert.equal(true, listed().held) -- by us
    here:free()
    assert.is_nil(listed())
  end)

  test('can be used by every worker, which creates other names as its own user', function()
    start(init())
    local code = [[
      local torch = require 'torch'
      local _, resize = pcall(named.resize, named, 5)
      local _, range = pcall(function() return anonymous[#anonymous + 1] end)
      local opened, again = pcall(torch.LongStorage, named:filename(), true, nil, true)
      local own = torch.ByteStorage(named:filename() .. '-own', true, 10, true)
      own:free()
      return table.concat({ resize, range, tostring(opened), tostring(again) }, '\n')
    ]]
    local lines = {}
    for line in (server:eval(code, 0) .. '\n'):gmatch '(.-)\n' do
      lines[#lines + 1] = line
    end
    assert.is_truthy(lines[1]:find('not resizable', 1, true), lines[1])
    assert.is_truthy(lines[2]:find('out of range', 1, true), lines[2])
    -- Created by root for root alone: a worker inherits it through the fork, and could not open it by name.
    assert.equal(root and 'false' or 'true', lines[3])
    if root then
      assert.is_truthy(lines[4]:find('Permission denied', 1, true), lines[4])
    end
    assert.equal('', support.sh("ls /dev/shm | grep -e '" .. name .. "-own'"))
    assert.equal('', server:stop())
  end)

  test_once('loses no write when all workers write at once', function()
    start(init())
    support.spit(
      server.directory .. '/request',
      [[
      local me = ngx.worker.id() + 1
      for _ = 1, 100000 do
        anonymous[me] = anonymous[me] + 1
      end
      named[me] = named[me] + 1
      return 1
    ]]
    )
    -- 8 requests run at any time.
    local command =
      'seq 48 | xargs -P 8 -I {} curl -s -m 30 --data-binary @%s/request http://127.0.0.1:%d/eval | sort | uniq -c'
    assert.equal('48 ok 1', (support.sh(command:format(server.directory, server.port)):gsub('^ +', '')))
    local total, requests = 0, 0
    for count in server:eval('return table.concat({ anonymous:unpack(1, 3) }, " ")'):gmatch '%d+' do
      assert.is_true(tonumber(count) > 0, 'a worker had no request')
      total = total + tonumber(count)
    end
    for count in server:eval('return table.concat({ named:unpack(1, 3) }, " ")'):gmatch '%d+' do
      requests = requests + tonumber(count)
    end
    assert.same({ 48 * 100000, 48 }, { total, requests })
    assert.equal('', server:stop())
  end)

  test_once('is released by every reload, and keeps its contents if it has a name', function()
    start(init())
    server:eval 'anonymous:fill(3) named:fill(4) return 1'
    local function held()
      local pid = server.master
      local report =
        [[local torch = require 'torch' return torch.memory().shared .. ' ' .. anonymous[1] .. ' ' .. named[9] ]]
      return {
        names = support.sh("ls /dev/shm | grep -c -F '" .. name .. "'"),
        report = server:eval(report),
        descriptors = support.sh('ls /proc/' .. pid .. '/fd | wc -l'),
        maps = support.sh('grep -c -e /dev/shm -e /dev/zero /proc/' .. pid .. '/maps'),
      }
    end
    local before = held()
    assert.equal('1', before.names)
    assert.equal(('%d 3 4'):format(2 * 8 * SIZE), before.report)
    -- The memory is that of the new init_by_lua only.
    before.report = ('%d 0 4'):format(2 * 8 * SIZE)
    local resident
    for reload = 1, 25 do
      server:reload()
      if reload == 5 then
        resident = nginx_host.memory(server.master, 'Rss')
      end
    end
    local after = held()
    local growth = nginx_host.memory(server.master, 'Rss') - resident
    -- The first reload makes nginx allocate memory that it reuses for the next ones.
    before.descriptors, after.descriptors = tonumber(before.descriptors), tonumber(after.descriptors)
    assert.is_true(after.descriptors <= before.descriptors, after.descriptors .. ' descriptors')
    before.descriptors = after.descriptors
    assert.same(before, after)
    -- 20 reloads that each kept one of the two storages would leak 4.8 MB.
    assert.is_true(growth < 2e6, growth .. ' bytes more')
    assert.equal('', server:stop())
    assert.is_nil(listed())
  end)

  for _, signal in ipairs { 'QUIT', 'TERM' } do
    test_once('leaves nothing behind after SIG' .. signal, function()
      start(init())
      assert.equal(true, listed().held)
      assert.equal(8 * SIZE, listed().bytes)
      assert.equal('', server:stop(signal))
      assert.is_nil(listed())
    end)
  end

  test_once('is the same in a worker that replaces a killed one', function()
    start(init())
    server:eval 'anonymous[7] = 71 named[7] = 72 return 1'
    for worker = 0, WORKERS - 1 do
      local pid = server:eval('return ngx.worker.pid()', worker)
      server:signal('KILL', pid)
      nginx_host.wait('another worker', function()
        local workers = table.concat(server:workers(), ' ')
        return #server:workers() == WORKERS and not workers:find(pid, 1, true)
      end)
      assert.equal('71 72', server:eval("return anonymous[7] .. ' ' .. named[7]", worker))
    end
    local log = server:stop()
    local _, lines = log:gsub('\n', '')
    local _, kills = log:gsub('exited on signal 9\n', '')
    assert.same({ WORKERS, WORKERS }, { lines, kills }, log)
    assert.is_nil(listed())
  end)

  -- Only its owner can remove a name in /dev/shm: workers of another user leave it to the next holder.
  test_once('stays in the workers of a killed master, and they leave at most a name that nobody holds', function()
    start(init())
    server:eval 'named[7] = 72 return 1'
    local workers = server:workers()
    server:signal 'KILL'
    assert.equal('72', server:eval 'return named[7]')
    assert.equal(true, listed().held)
    for _, pid in ipairs(workers) do
      server:signal('TERM', pid)
    end
    nginx_host.wait('the workers to leave', function()
      local entry = listed()
      return not entry or not entry.held
    end)
    if root then
      assert.same({ name = name, bytes = 8 * SIZE, held = false }, listed())
      local here = torch.LongStorage(name, true, nil, true)
      assert.equal(72, here[7])
      here:free()
    end
    assert.is_nil(listed())
  end)

  test_once('uses its memory only once', function()
    local bytes = 64 * 2 ^ 20
    local code = "big = require 'torch'.ByteStorage(%d):shareMemory()"
    start(code:format(bytes))
    local all = server:workers()
    all[#all + 1] = server.master
    local function sum()
      local total = 0
      for _, pid in ipairs(all) do
        total = total + nginx_host.memory(pid, 'Pss')
      end
      return total
    end
    for worker = 0, WORKERS - 1 do
      server:eval('for i = 1, #big, 512 do big[i] = big[i] + 1 end return 1', worker)
    end
    local least = math.huge
    for _, pid in ipairs(server:workers()) do
      least = math.min(least, nginx_host.memory(pid, 'Rss'))
    end
    assert.is_true(least > bytes, 'a worker has not touched all of it')
    local total = sum()
    assert.is_true(total > bytes and total < 1.5 * bytes, total .. ' bytes in all')
    assert.equal(tostring(WORKERS), server:eval 'return big[1]')
    assert.equal('', server:stop())
  end)

  test_once('gives the results shown in examples/nginx', function()
    start('', support.slurp 'examples/nginx/nginx.conf')
    assert.equal(4, #server:workers())
    local sums, last = 0, nil
    for line in (server:get('/', 40) .. '\n'):gmatch '(.-)\n' do
      local worker, all, counts = line:match '^worker (%d); request (%d+); of each worker: ([%d ]+)$'
      assert.is_truthy(worker, line)
      -- One more request was sent to check that nginx had started.
      assert.equal(tostring(sums + 2), all)
      sums, last = sums + 1, { tonumber(worker), counts }
    end
    assert.equal(40, sums)
    local total = 0
    for count in last[2]:gmatch '%d+' do
      total = total + tonumber(count)
    end
    assert.equal(41, total)
    server:stop()
  end)
end)
