-- Scripts that are not trusted, in a program in C that opens the installed library: spec/support/attacked.c. The attacks are in
-- spec/support/attacks.lua and attacks_by_use.lua, and each runs in a process of its own.
-- Interpreters: luajit, lua5.1, lua5.4
local attacks = require 'spec.support.attacks'
local c_module = require 'spec.support.c_module'
local support = require 'spec.support'

local list = {}
for _, part in ipairs { attacks.list, require 'spec.support.attacks_by_use' } do
  for _, one in ipairs(part) do
    list[#list + 1] = one
  end
end

local missing = c_module.missing()
local it = missing and function(title)
  require('busted').pending(title .. ': ' .. missing)
end or require('busted').it

local TRUSTED = [[
torch.publish('open', torch.FloatStorage { 1, 2, 3 })
torch.publish('secret', torch.FloatStorage { 4 })
kept = torch.FloatStorage { 5, 6 }
return kept:token()
]]

-- The library of the interpreter to link the program with.
local LIBRARY = support.luajit and 'luajit-5.1' or _VERSION:lower():gsub(' ', '')
local BYTES = 8388608

describe('a restricted state #process', function()
  local path = support.temporary()
  local program, trusted

  -- Lua 5.5 has no shared library.
  local function link()
    local archive = support.sh 'pwd' .. '/.tools/lua5.5/liblua.a'
    return _VERSION == 'Lua 5.5' and archive .. ' -Wl,-E -lm -ldl' or '-Wl,-E -l' .. LIBRARY .. ' -lm -ldl'
  end

  setup(function()
    program, trusted = os.tmpname(), support.spit(os.tmpname(), TRUSTED)
    if not missing then
      local command = 'cc -std=c99 %s -O1 -g -Iinclude -I%s -o %s spec/support/attacked.c %s'
      local messages, status = support.execute(command:format(c_module.STRICT, c_module.headers(), program, link()))
      assert(status == 0, messages)
    end
  end)
  teardown(function()
    os.remove(program)
    os.remove(trusted)
  end)

  -- Runs a script in the program. Returns what it prints, and its exit status.
  local function run(script)
    local off = support.luajit and not require('jit').status() and 'jit.off()\n' or ''
    local name = support.spit(path 'script.lua', off .. script)
    return support.execute(("timeout 120 '%s' '%s' '%s' %d open"):format(program, trusted, name, BYTES))
  end

  local function attack(code)
    return run(attacks.prelude .. '\n' .. code .. "\nreturn 'held ' .. held()")
  end

  for _, one in ipairs(list) do
    it('withstands ' .. one[1], function()
      local output, status = attack(one[2])
      local count = output:match '^held (%d+)%.?0?\n'
      assert.is_true(tonumber(count or 0) > 0, output)
      assert.equal(0, status, output)
      if one.is_last then
        local first, second = output:match 'finalizer: ([^\n]*)\nfinalizer: ([^\n]*)'
        assert.truthy(first and first:find('not enough memory', 1, true), output)
        assert.truthy(second:find('restricts this Lua state', 1, true), output)
      end
      assert.equal('closed', output:match '[^\n]*$')
    end)
  end

  it('tells an attack that gets through', function()
    assert.truthy(attack('refused(NOT, torch.zeros, 2)'):find 'no error, but a result')
    assert.truthy(attack("check(torch.load, 'it')"):find 'held 1')
  end)

  it('runs what is allowed', function()
    local output = run [[
      local s = torch.FloatStorage(1000):fill(2)
      local x = torch.zeros(3, 4):fill(1)
      local class = torch.class 'Point'
      function class:__init(a) self.a = a end
      local back = torch.deserialize(torch.serialize { Point(7), x, s:sub(1, 2) })
      s:resize(2000)
      host.lent:fill(3)
      return ('%d %d %d %d %d %d'):format(s:sum(), x:sum(), back[1].a, #back[3], host.used() > 8000 and 1 or 0, host.lent[16])
    ]]
    assert.equal('2000 12 7 2 1 3\nclosed', output)
  end)

  it('has the library only with its options if memory runs out while it is opened', function()
    local source = support.spit(
      path 'opening.c',
      [[
#include <stdio.h>
#include <stdlib.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <torch_storage.h>

static size_t left;
static int is_counting;
static void *allocate(void *unused, void *old, size_t old_size, size_t size) {
  (void)unused, (void)old_size;
  if (size == 0) return free(old), NULL;
  if (is_counting && (old == NULL || size > old_size)) {
    if (left == 0) return NULL;
    left--;
  }
  return realloc(old, size);
}
static torch_storage_options options = {sizeof options, 1, 8388608, 1, NULL};
static int open_library(lua_State *L) {
  torch_storage_require(L, &options);
  return 0;
}
/* What a script finds afterwards. */
static const char SCRIPT[] =
    "local ok, torch = pcall(require, 'torch.storage') if not ok then ok, torch = pcall(require, 'torch.storage') end\n"
    "local has_core, core = pcall(require, 'torch.core')\n"
    "assert(not (has_core and type(core) == 'table' and (core.restricted == nil or not ok)), 'the module')\n"
    "assert(not (ok and pcall(torch.ByteStorage, '/dev/null', false)), 'files')\n";
int main(void) {
  size_t n, failed = 0;
  for (n = 20;; n += 97) {
    lua_State *L = lua_newstate(allocate, NULL);
    int status;
    if (L == NULL) return 2;
    luaL_openlibs(L);
    left = n, is_counting = 1;
    lua_pushcfunction(L, open_library);
    status = lua_pcall(L, 0, 0, 0);
    is_counting = 0;
    failed += status != 0;
    if (luaL_loadstring(L, SCRIPT) != 0 || lua_pcall(L, 0, 0, 0) != 0) return printf("after %d allocations: %s\n", (int)n, lua_tostring(L, -1)), 1;
    lua_close(L);
    if (status == 0) break;
  }
  return printf("%s\n", failed > 20 ? "held" : "it was never tried"), 0;
}
]]
    )
    local command = 'cc -std=c99 -O1 -g -Iinclude -I%s -o %s %s %s && timeout 120 %s'
    local target = path 'opening'
    local output = support.execute(command:format(c_module.headers(), target, source, link(), target))
    assert.equal('held', output)
  end)

  it('are more than thirty attacks', function()
    assert.is_true(#list >= 50, #list .. ' attacks')
  end)
end)
