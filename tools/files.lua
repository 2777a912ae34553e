-- Reads, writes and lists files of the project.
local files = {}

-- Whether there is a file or folder of this name.
function files.exists(name)
  local file = io.open(name, 'rb')
  if file then
    file:close()
  end
  return file ~= nil
end

-- The bytes of a file.
function files.read(name)
  local file = assert(io.open(name, 'rb'))
  local text = assert(file:read '*a')
  file:close()
  return text
end

-- The bytes of a file, or nil if there is none.
function files.read_if_there(name)
  return files.exists(name) and files.read(name) or nil
end

function files.write(name, text)
  local file = assert(io.open(name, 'wb'))
  assert(file:write(text))
  file:close()
end

-- The lines that a shell command prints.
function files.list(command)
  local lines, pipe = {}, assert(io.popen(command))
  for line in pipe:lines() do
    lines[#lines + 1] = line
  end
  pipe:close()
  return lines
end

-- A path without `.` and `..`: 'docs/../README.md' is 'README.md'.
function files.normal(path)
  local parts = {}
  for part in path:gmatch '[^/]+' do
    if part == '..' then
      table.remove(parts)
    elseif part ~= '.' then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, '/')
end

return files
