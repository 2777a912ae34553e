-- Prints the `rock_manifest` of a binary rock: the MD5 sum of each of its files, in tables that are the folders.
--
--   luajit tools/release/rock_manifest.lua FOLDER
local files = require 'tools.files'

local root = {}
for _, line in ipairs(files.list(("cd '%s' && find . -type f -exec md5sum {} + | sort -k 2"):format(arg[1]))) do
  local sum, path = line:match '^(%x+)  %./(.+)$'
  local folder = root
  for name in path:gmatch '([^/]+)/' do
    folder[name] = folder[name] or {}
    folder = folder[name]
  end
  folder[path:match '[^/]+$'] = sum
end

local function write(folder, indent)
  local names = {}
  for name in pairs(folder) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local value = folder[name]
    if type(value) == 'table' then
      print(('%s[%q] = {'):format(indent, name))
      write(value, indent .. '  ')
      print(indent .. '},')
    else
      print(('%s[%q] = %q,'):format(indent, name, value))
    end
  end
end

print 'rock_manifest = {'
write(root, '  ')
print '}'
