-- Tells whether IPv4 addresses are in a list. The list is a file of sorted integers, which is mapped. A search reads some thirty
-- of them, however many there are, and all processes share the pages.
local HELP = [[
addresses.lua LIST [ADDRESS ...] tells which addresses are in a list, or makes the list from the standard input.

  LIST     the file of the list: sorted integers of 32 bits
  ADDRESS  an IPv4 address, such as 192.168.1.1

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local function fail(text, ...)
  io.stderr:write('addresses: ', text:format(...), '\n')
  os.exit(1)
end

-- An address as a number, or nil.
local function number_of(address)
  local number, parts = 0, 0
  for part in (address .. '.'):gmatch '(%d+)%.' do
    if tonumber(part) > 255 then
      return nil
    end
    number, parts = number * 256 + tonumber(part), parts + 1
  end
  return parts == 4 and address:find '^[%d.]+$' and number or nil
end

-- Writes the sorted list of the addresses that are read, each once.
local function build(path)
  local numbers, count = torch.UInt32Storage(1024), 0
  for line in io.lines() do
    local number = number_of(line)
    if not number then
      fail("line %d is not an IPv4 address: '%s'", count + 1, line)
    end
    if count == #numbers then
      numbers:resize(2 * count)
    end
    count = count + 1
    numbers[count] = number
  end
  numbers:resize(count)
  numbers:sort()
  local kept = 0
  for i = 1, count do
    if i == 1 or numbers[i] ~= numbers[kept] then
      kept = kept + 1
      numbers[kept] = numbers[i]
    end
  end
  numbers:resize(kept)
  os.remove(path)
  torch.UInt32Storage({ filename = path, shared = true, size = kept }):copy(numbers)
  print(('%d addresses'):format(kept))
end

-- Looks for the addresses from the second one of the list on: the first is the file.
local function ask(path, addresses)
  local list = torch.UInt32Storage { filename = path, readonly = true }
  for i = 2, #addresses do
    local address = addresses[i]
    local number = number_of(address)
    if not number then
      fail("not an IPv4 address: '%s'", address)
    end
    local place = list:search(number)
    local found = place <= #list and list[place] == number
    print(('%s %s in the list'):format(address, found and 'is' or 'is not'))
  end
end

local path = arg[1] or fail 'give the file of a list, or --help'
local ok, message = pcall(function()
  if arg[2] then
    ask(path, arg)
  else
    build(path)
  end
end)
if not ok then
  fail('%s', message)
end
