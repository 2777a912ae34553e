-- Neovim: the library in a script of `nvim --headless`, its exit codes, and storages that are passed to its worker threads and
-- back.
-- Interpreters: luajit, lua5.1
local torch = require 'torch'
local support = require 'spec.support'
local processes = require 'spec.support.processes'
local program = require 'spec.support.program'
local types = require 'spec.support.types'

local test, test_once = program.tests(function()
  return support.sh 'command -v nvim' == '' and 'nvim is missing: tools/need --try nvim' or nil
end)
local path = support.temporary()
local name

-- `say` writes to the output of this process. Neovim's `print` writes messages among others.
local PRELUDE = [[
local torch = require 'torch'
local uv = vim.loop
local function say(...)
  io.stdout:write(table.concat(vim.tbl_map(tostring, { ... }), ' '), '\n')
  io.stdout:flush()
end
-- Runs Neovim's loop until the callback of a thread has set a value.
local function wait(f)
  assert(vim.wait(20000, f, 2), 'waited too long')
end
local function collect()
  collectgarbage()
  collectgarbage()
end
]]

-- Runs a script in Neovim, then the command `last` (`q!`). Returns both output streams and the exit status.
local function nvim(script, last)
  local file = support.spit(path 'script.lua', PRELUDE .. script)
  local command = "timeout 60 nvim --headless -u NONE -i NONE -n -c 'luafile %s' -c '%s' </dev/null"
  local output, status = support.execute(command:format(file, last or 'q!'))
  return output:gsub('\r', ''), status
end

local function check(expected, script, last)
  local output, status = nvim(script, last)
  assert.equal(expected, output)
  assert.equal(0, status)
end

describe('Neovim #process', function()
  before_each(function()
    name = processes.name()
  end)
  after_each(processes.clean)

  test_once('reads and writes elements of all classes, and the text of a buffer', function()
    local lines = { 'ffi' }
    for _, T in ipairs(types.TORCH7) do
      lines[#lines + 1] = ('torch.%sStorage 1000 49500'):format(T)
    end
    lines[#lines + 1] = '23 102 true'
    check(
      table.concat(lines, '\n'),
      [[
      say(torch.accessors())
      for _, T in ipairs(require('spec.support.types').TORCH7) do
        local s = torch[T .. 'Storage'](1000)
        for i = 1, #s do
          s[i] = i % 100
        end
        local sum = 0
        for i = 1, #s do
          sum = sum + s[i]
        end
        say(s:type(), #s, sum)
      end
      local text = 'five words in this line'
      vim.api.nvim_buf_set_lines(0, 0, -1, true, { text })
      local bytes = torch.ByteStorage.fromstring(vim.api.nvim_buf_get_lines(0, 0, -1, true)[1])
      say(#bytes, bytes[1], bytes:string() == text)
    ]]
    )
  end)

  test_once('raises errors as strings with a position, and continues', function()
    local output, status = nvim [[
      local s = torch.IntStorage { 1, 2, 3 }
      local ok, message = pcall(function()
        return s[4]
      end)
      say(ok, type(message), message)
      torch.IntStorage(-1)
    ]]
    assert.equal(0, status) -- of Neovim: `q!` does not know of the error
    assert.is_truthy(output:find('false string [^\n]*script.lua:%d+: [^\n]*index 4 is out of range'), output)
    assert.is_truthy(output:find('E5113: Error while calling lua chunk: [^\n]*script.lua:%d+: bad argument #1'), output)
  end)

  -- The storage is alive at each of these exits.
  for last, expected in pairs { ['q!'] = 0, ['cq'] = 1, ['cq 7'] = 7, ['lua os.exit(9)'] = 9 } do
    test_once(("ends with status %d after ':%s', and leaves no shared memory"):format(expected, last), function()
      local script = ('kept = torch.ByteStorage(%q, true, 100, true):fill(1) say(#torch.sharedMemory() > 0)'):format(
        name
      )
      local output, status = nvim(script, last)
      assert.equal('true', output:match '^%l+')
      assert.equal(expected, status)
      assert.equal('', processes.left())
    end)
  end

  test('shares memory with this process', function()
    local here = torch.DoubleStorage(name, true, 1000, true):fill(1.5)
    check(
      '1000 1.5',
      ([[
      local s = torch.DoubleStorage(%q, true, nil, true)
      say(#s, s[1000])
      for i = 1, #s do
        s[i] = i / 2
      end
    ]]):format(name)
    )
    assert.equal(name, processes.left()) -- Neovim was not the last holder
    for i = 1, 1000 do
      assert.equal(i / 2, here[i])
    end
    here:free()
    assert.equal('', processes.left())
  end)

  test_once('finds published storages in its worker threads, and passes tokens both ways (new_work)', function()
    check(
      table.concat({
        'true',
        '7 2005',
        'torch.LongStorage 6',
        'false another Lua state, a token or a publication holds the storage',
        'true',
        '0 0 0 0',
      }, '\n'),
      [[
      local shared = torch.DoubleStorage(1000):fill(2)
      torch.publish('shared', shared)
      local result
      local work = uv.new_work(function(token, value)
        local ok, answer = pcall(function()
          local torch = require 'torch'
          local s, given = torch.lookup 'shared', torch.fromToken(token)
          s[1] = value
          local sum = 0
          for i = 1, #s do
            sum = sum + s[i]
          end
          given[1] = sum
          local answer = torch.LongStorage({ 1, 2, 3 }):token()
          -- The thread and its Lua state stay and wait for more work, so they release their storages here.
          s:free()
          given:free()
          collectgarbage()
          return answer
        end)
        return ok, answer
      end, function(...)
        result = { ... }
      end)
      local given = torch.IntStorage(4)
      work:queue(given:token(), 7)
      wait(function()
        return result
      end)
      say(result[1])
      say(shared[1], given[1])
      local answer = torch.fromToken(result[2])
      say(answer:type(), answer[1] + answer[2] + answer[3])
      local resized, message = pcall(shared.resize, shared, 5)
      say(resized, message:match '(another.-):')
      torch.unpublish 'shared'
      say((pcall(shared.resize, shared, 5)))
      shared, given, answer = nil
      collect()
      collect()
      local memory = torch.memory()
      say(memory.heap, memory.mapped, memory.shared, memory.foreign)
    ]]
    )
  end)

  test_once('fills one storage from several threads and from the editor at once', function()
    check(
      '8 parts\n4000000 2000000500000',
      [[
      local PART = 500000
      local s = torch.DoubleStorage(8 * PART)
      torch.publish('parts', s)
      local parts = 0
      local work = uv.new_work(function(first, last)
        local ok, message = pcall(function()
          local s = require('torch').lookup 'parts'
          for i = first, last do
            s[i] = i / 4
          end
          s:free()
        end)
        return ok and '' or message
      end, function(message)
        parts = message == '' and parts + 1 or error(message)
      end)
      for part = 1, 7 do
        work:queue((part - 1) * PART + 1, part * PART)
      end
      for i = 7 * PART + 1, 8 * PART do
        s[i] = i / 4
      end
      wait(function()
        return parts == 7
      end)
      say(parts + 1, 'parts')
      local sum = 0
      for i = 1, #s do
        sum = sum + s[i]
      end
      say(#s, ('%.0f'):format(sum))
    ]]
    )
  end)

  test_once('gets back the storages of an ended thread (new_thread)', function()
    check(
      'false\ntrue\n300\ntrue\ntrue\n4000',
      [[
      local s = torch.IntStorage(100)
      torch.publish('thread', s)
      local thread = uv.new_thread(function(factor)
        local torch = require 'torch'
        kept = torch.lookup 'thread'
        for i = 1, #kept do
          kept[i] = i * factor
        end
        -- Alive when the thread ends, like the storage itself; nobody else holds this one.
        lost = torch.DoubleStorage(1e6)
      end, 3)
      say((pcall(s.resize, s, 5)))
      say(thread:join())
      say(s[100])
      say(torch.unpublish 'thread')
      say(torch.lookup 'thread' == nil)
      -- The closed state holds nothing, so this storage can be resized again and only its memory is left.
      s:resize(1000)
      say(torch.memory().heap)
    ]]
    )
  end)

  test_once('exits while threads work and hold shared memory', function()
    local output, status = nvim(([[
      torch.publish('ready', torch.IntStorage(1))
      local ready = torch.lookup 'ready'
      local thread = uv.new_thread(function(name)
        local torch = require 'torch'
        kept = torch.LongStorage(name, true, 10000, true)
        local ready = torch.lookup 'ready'
        ready[1] = 1
        while true do
          for i = 1, #kept do
            kept[i] = kept[i] + 1
          end
        end
      end, %q)
      wait(function()
        return ready[1] == 1
      end)
      say(#torch.sharedMemory() > 0)
      os.exit(3)
    ]]):format(name))
    assert.equal('true', output)
    assert.equal(3, status)
    assert.equal('', processes.left())
  end)
end)
