-- How a C module finds the table of functions of include/torch_storage.h, and how long it works.
-- Interpreters: luajit, lua5.4
local support = require 'spec.support'
local probes = require 'spec.support.probes'

local it = probes.it

describe('torch_storage.h #process', function()
  local path = support.temporary()
  local probe = probes.open()
  before_each(support.collect)

  describe('the table of functions', function()
    it('is found by its key, and loads torch if necessary', function()
      assert.is_truthy(probe.open():find '^torch%-storage %d+%.%d+%.%d+, functions 1%.2$')
      local output, status = probes.child(
        path 'probe.so',
        [[
        local probe = open()
        print(package.loaded['torch.core'], (probe.open():gsub(' %S+,', ',')), rawget(_G, 'torch'))
        package.loaded['torch.core'], package.loaded['torch.storage'] = nil, nil
        print((probe.open():gsub(' %S+,', ',')))]],
        true
      )
      assert.equal('nil\ttorch-storage, functions 1.2\tnil\ntorch-storage, functions 1.2', output)
      assert.equal(0, status)
    end)

    it('of another version or size, or another value, is refused with both versions', function()
      local OURS = 'this module was compiled with torch_storage.h 1.2, and '
      local OTHER = OURS .. 'the library that is loaded (torch-storage 9.9) has version %s: %s'
      local OLDER = 'install a newer torch-storage, or compile the module with the torch_storage.h of that library'
      local NEWER = 'compile the module with the torch_storage.h of that library'
      local NONE = OURS .. 'the torch.core that is loaded has no functions for C modules: install a newer torch-storage'
      local cases = {
        { 'probe.fake("torch_storage.1", 0, 2, 0, 1000)', OTHER:format('2.0', NEWER) },
        { 'probe.fake("torch_storage.1", 0, 0, 7, 1000)', OTHER:format('0.7', OLDER) },
        { 'probe.fake("torch_storage.1", 0, 1, 0, 1000)', OTHER:format('1.0', OLDER) },
        { 'probe.fake("torch_storage.1", 0, 1, 2, 992)', OTHER:format('1.2', OLDER) },
        { 'probe.fake("torch_storage.1", 1e5, 1, 0, 1000)', NONE },
        { 'probe.lose(true)', NONE },
        { 'probe.lose(io.stdout)', NONE },
        { 'probe.lose(torch.IntStorage(3))', NONE },
        { 'probe.lose(false) probe.fake("torch_storage.2", 0, 2, 5, 1000)', OTHER:format('2.5', NEWER) },
        { 'probe.fake("torch_storage.1", 0, 1, 3, 1200) print "as"', 'as\ntrue\ttorch-storage 9.9, functions 1.3' },
      }
      local lines = { "local torch, probe = require 'torch', open()", 'local function try()' }
      lines[#lines + 1] = '  local ok, result = pcall(probe.open)'
      lines[#lines + 1] = '  if ok then print(ok, result) else print(result) end\nend'
      local expected = {}
      for _, case in ipairs(cases) do
        lines[#lines + 1] = case[1] .. ' try()'
        expected[#expected + 1] = case[2]
      end
      local output, status = probes.child(path 'probe.so', table.concat(lines, '\n'), true)
      assert.equal(0, status, output)
      assert.equal(table.concat(expected, '\n'), output)
    end)

    it('without a function that a newer header has is refused', function()
      local header = support.slurp 'include/torch_storage.h'
      local changes = 0
      local function change(from, to)
        local first, last = header:find(from, 1, true)
        header = header:sub(1, first - 1) .. to .. header:sub(last + 1)
        changes = changes + 1
      end
      change('#define TORCH_STORAGE_MINOR 2', '#define TORCH_STORAGE_MINOR 4')
      change('} torch_storage_api;', '  void (*appended)(void);\n} torch_storage_api;')
      assert.equal(2, changes)
      support.sh("mkdir '" .. path() .. "/include'")
      support.spit(path 'include/torch_storage.h', header)
      local output, status = probes.child(path 'probe.so', "require 'torch'\nprint(pcall(open))", false, path 'include')
      assert.equal(0, status, output)
      local version = require('torch.core').version
      assert.is_truthy(
        output:find(
          'compiled with torch_storage.h 1.4, and the library that is loaded (torch-storage '
            .. version
            .. ') has version 1.2: install a newer torch-storage',
          1,
          true
        ),
        output
      )
    end)

    it('has to be the upvalue of the function', function()
      support.fails('upvalue 1 of this function is not the table of torch_storage.h', probe.without_table, 1, 0, 0)
    end)

    it('of one library is the only one in a Lua state', function()
      local loaded = support.slurp('/proc/self/maps'):match '%s(/[^\n]*/torch/core%.so)\n'
      support.sh(("cp '%s' '%s'"):format(loaded, path 'core.so'))
      local output, status = support.run(([[
        require 'torch.storage'
        local open = assert(package.loadlib(%q, 'luaopen_torch_core'))
        local ok, message = pcall(open)
        print(ok, message)
        print(require 'torch.core' == package.loaded['torch.core'])
      ]]):format(path 'core.so'))
      assert.equal(0, status, output)
      local version = 'another torch.core is open in this Lua state: version ' .. require('torch.core').version
      assert.is_truthy(output:find('^false\t'), output)
      assert.is_truthy(
        output:find(version .. ' in ' .. loaded .. '. A Lua state can have only one\ntrue', 1, true),
        output
      )
    end)
  end)

  it('works in finalizers, also while the Lua state is closed', function()
    local output, status = probes.child(
      path 'probe.so',
      [[
      local torch, probe = require 'torch', open()
      local s, hold = torch.DoubleStorage(5), nil
      hold = probe.retain(s, 512)
      local function at_end()
        local t = probe.new(7, 3)
        print(probe.check(t, 7, 1), (probe.held(hold)), #probe.push(hold))
        probe.release(hold)
        print(pcall(probe.check, 1, 7, 0))
      end
      if newproxy then
        kept = newproxy(true)
        getmetatable(kept).__gc = at_end
      else
        kept = setmetatable({}, { __gc = at_end })
      end
    ]]
    )
    assert.equal(0, status, output)
    assert.is_truthy(output:find('^3\t.-5\t5\nfalse\t.*torch.FloatStorage expected, got number'), output)
  end)
end)
