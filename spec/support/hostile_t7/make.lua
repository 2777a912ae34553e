-- Writes the hostile files: luajit spec/support/hostile_t7/make.lua, from the root of the repository with LUA_PATH and
-- LUA_CPATH set.
package.path = './?.lua;' .. package.path
local cases = require 'spec.support.hostile_t7.cases'
local made = require 'spec.support.made'

os.execute 'rm -f spec/support/hostile_t7/*.t7'
local count = 0
for _, case in ipairs(cases) do
  for _, format in ipairs(cases.FORMATS) do
    local bytes = case.build(made.formats[format])
    if bytes then
      local file = assert(io.open(cases.path(case.name, format), 'wb'))
      assert(file:write(bytes))
      file:close()
      count = count + 1
    end
  end
end
print(count .. ' files')
