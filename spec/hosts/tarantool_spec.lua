-- Tarantool: the library in its LuaJIT, in fibers, at its exits, and together with other processes.
-- Interpreters: luajit, lua5.1
local torch = require 'torch'
local support = require 'spec.support'
local processes = require 'spec.support.processes'
local program = require 'spec.support.program'
local types = require 'spec.support.types'

local tarantool = support.sh 'pwd' .. '/.tools/bin/tarantool'
if support.sh("test -x '" .. tarantool .. "' && echo yes") ~= 'yes' then
  tarantool = support.sh 'command -v tarantool'
end
local test, test_once = program.tests(function()
  return tarantool == '' and 'tarantool is missing: tools/need --try tarantool' or nil
end)
local path = support.temporary()
local name

-- Runs a script in Tarantool. Returns both output streams and the exit status.
local function run(script)
  support.spit(path 'script.lua', "local torch, fiber = require 'torch', require 'fiber'\n" .. script)
  local command = "cd '%s' && timeout 60 '%s' script.lua </dev/null"
  return support.execute(command:format(path(), tarantool))
end

describe('Tarantool #process', function()
  before_each(function()
    name = processes.name()
  end)
  after_each(processes.clean)

  test_once('reads and writes elements of all classes, also int64 cdata', function()
    local lines = { 'ffi' }
    for _, T in ipairs(types.TORCH7) do
      lines[#lines + 1] = ('torch.%sStorage\t49500'):format(T)
    end
    lines[#lines + 1] = 'true'
    local output, status = run(("local TYPES = { '%s' }\n"):format(table.concat(types.TORCH7, "', '")) .. [[
      print(torch.accessors())
      for _, T in ipairs(TYPES) do
        local s, sum = torch[T .. 'Storage'](1000), 0
        for i = 1, #s do
          s[i] = i % 100
        end
        for i = 1, #s do
          sum = sum + s[i]
        end
        print(s:type(), sum)
      end
      local id = torch.LongStorage(1)
      id[1] = 9007199254740993LL
      print(id:equal(torch.LongStorage { 9007199254740993LL }) and not id:equal(torch.LongStorage { 2 ^ 53 }))
      os.exit(0)
    ]])
    assert.equal(table.concat(lines, '\n'), output)
    assert.equal(0, status)
  end)

  test_once('works and raises errors in fibers, while the collector runs', function()
    local output, status = run [[
      local shared, messages, ended = torch.LongStorage(50), {}, 0
      for id = 1, 50 do
        fiber.create(function()
          for _ = 1, 20 do
            local garbage = torch.ByteStorage(2e6):fill(id)
            fiber.yield()
            assert(garbage[2e6] == id)
            shared[id] = shared[id] + 1
          end
          local ok, message = pcall(function()
            return shared[51]
          end)
          messages[tostring(ok) .. message:match '%d+: (.-out of range)'] = true
          ended = ended + 1
        end)
      end
      while ended < 50 do
        fiber.sleep(0.001)
      end
      for message in pairs(messages) do
        print(message)
      end
      print(shared:equal(torch.LongStorage(50):fill(20)))
      collectgarbage()
      collectgarbage()
      print(torch.memory().heap < 5e6)
      os.exit(4)
    ]]
    assert.equal('falseindex 51 is out of range\ntrue\ntrue', output)
    assert.equal(4, status)
  end)

  test('shares memory with this process, and the last one removes it', function()
    local here = torch.DoubleStorage(name, true, 1000, true):fill(1.5)
    local output, status = run(([[
      local s = torch.DoubleStorage(%q, true, nil, true)
      print(#s, s[1000])
      for i = 1, #s do
        s[i] = i / 2
      end
      os.exit(0)
    ]]):format(name))
    assert.equal('1000\t1.5', output)
    assert.equal(0, status)
    assert.equal(name, processes.left())
    assert.equal(500, here[1000])
    here:free()
    assert.equal('', processes.left())
  end)

  for ending, expected in pairs { ['os.exit(5)'] = 5, ['os.exit()'] = 0, ['error "the end"'] = 1 } do
    test_once(('leaves no shared memory after %s'):format(ending), function()
      local script = 'kept = torch.ByteStorage(%q, true, 100, true):fill(1) print(#torch.sharedMemory() > 0)\n%s'
      local output, status = run(script:format(name, ending))
      assert.is_truthy(output:find('true', 1, true), output)
      assert.equal(expected, status)
      assert.equal('', processes.left())
    end)
  end
end)
