-- Checks that the package for crates.io has every file that it needs: those that src/ includes, all Lua files of the library that
-- the feature `embedded` loads, and the header for modules in C.
--
--   luajit tools/check_package.lua     (from the project's directory)
local files = require 'tools.files'

local problems = 0
local function problem(text, ...)
  problems = problems + 1
  print(text:format(...))
end

local packed = {}
for _, name in ipairs(files.list 'cargo package --list --locked --allow-dirty 2>/dev/null') do
  packed[name] = true
end

-- A file that `include_str!` names is found from the folder of the file that includes it.
local included = {}
for _, source in ipairs(files.list 'find src -name "*.rs"') do
  for path in files.read(source):gmatch 'include_%w+!%(%s*"([^"]+)"' do
    local name = files.normal(source:match '^.*/' .. path)
    included[name] = true
    if not packed[name] then
      problem('%s includes %s, which is not in the package: see `include` in Cargo.toml', source, name)
    end
  end
end

-- The files meta*.lua declare the interface for editors, and no program loads them.
for _, name in ipairs(files.list 'ls lua/torch/*.lua') do
  if not included[name] and not name:find '/meta[%w_]*%.lua$' then
    problem('src/lua/embedded.rs does not include %s, so programs that embed Lua would lack it', name)
  end
end

for _, name in ipairs { 'include/torch_storage.h', 'docs/c-modules.md', 'docs/restricted.md', 'docs/rust-hosts.md' } do
  if not packed[name] then
    problem('%s is not in the package: see `include` in Cargo.toml', name)
  end
end

os.exit(problems == 0 and 0 or 1)
