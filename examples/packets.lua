-- Decodes network packets that arrive in pieces, without copying each of them. The pieces are collected in a string.buffer if the
-- interpreter has one, otherwise in a string.
local HELP = [[
packets.lua [FILE] reads a capture of network packets piece by piece, as if it came from a network, and prints each packet.

  FILE  the capture, in the format pcap (examples/data/dns.pcap)

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local has_buffers, string_buffer = pcall(require, 'string.buffer')

local function fail(text)
  io.stderr:write('packets: ', text, '\n')
  os.exit(1)
end

-- The bytes that have arrived and are not yet decoded. `bytes()` returns a storage that shows them. `drop(n)` removes n bytes
-- from the front; storages that were made before keep theirs.
local function queue()
  if has_buffers then
    local buffer = string_buffer.new()
    return {
      put = function(piece)
        buffer:put(piece)
      end,
      bytes = function()
        return #buffer > 0 and torch.frombuffer(buffer) or torch.UntypedStorage()
      end,
      drop = function(n)
        buffer:skip(n)
      end,
    }
  end
  local text = ''
  return {
    put = function(piece)
      text = text .. piece
    end,
    bytes = function()
      return text ~= '' and torch.frombuffer(text) or torch.UntypedStorage()
    end,
    drop = function(n)
      text = text:sub(n + 1)
    end,
  }
end

-- Numbers in network packets have the high byte first, and frombuffer swaps the bytes.
local function unsigned16(bytes, offset)
  return torch.ShortStorage.frombuffer(bytes, { offset = offset, count = 1, byteorder = 'big' })[1] % 2 ^ 16
end

local function address(bytes, offset)
  return table.concat(bytes:view('uint8', offset, 4):totable(), '.')
end

local PROTOCOLS = { [1] = 'ICMP', [6] = 'TCP', [17] = 'UDP' }

-- One line about an Ethernet frame.
local function describe(frame)
  if #frame < 14 then
    return ('a frame of %d bytes'):format(#frame)
  end
  local ether_type = unsigned16(frame, 12)
  if ether_type ~= 0x0800 or #frame < 34 then
    return ('a frame of type %04x, %d bytes'):format(ether_type, #frame)
  end
  local head = frame[15] % 16 * 4
  local protocol = frame[24]
  local text = ('%s %s > %s'):format(PROTOCOLS[protocol] or protocol, address(frame, 26), address(frame, 30))
  -- In a correct header all words, added with end-around carry, give a number whose bits are all 1.
  local sum = 0
  for offset = 14, 12 + head, 2 do
    sum = sum + unsigned16(frame, offset)
  end
  while sum >= 2 ^ 16 do
    sum = sum % 2 ^ 16 + math.floor(sum / 2 ^ 16)
  end
  local transport = 14 + head
  if (protocol == 17 or protocol == 6) and #frame >= transport + 4 then
    text = ('%s, port %d > %d'):format(text, unsigned16(frame, transport), unsigned16(frame, transport + 2))
  end
  return ('%s, %d bytes, header %s'):format(text, #frame, sum == 0xffff and 'correct' or 'wrong')
end

local here = arg[0]:match '^(.*)/[^/]*$' or '.'
local name = arg[1] or here .. '/data/dns.pcap'
local file, reason = io.open(name, 'rb')
if not file then
  fail(reason)
end

local waiting = queue()
local order, count, total
while true do
  local piece = file:read(37) -- so few that packets arrive in parts
  if not piece then
    break
  end
  waiting.put(piece)
  local bytes = waiting.bytes()
  if not order and #bytes >= 24 then
    local magic = bytes:string(1, 4)
    order = magic == '\212\195\178\161' and 'little' or magic == '\161\178\195\212' and 'big'
    if not order then
      fail(name .. ' is not a pcap file')
    end
    count, total = 0, 0
    waiting.drop(24)
    bytes = waiting.bytes()
  end
  while order and #bytes >= 16 do
    local length = torch.IntStorage.frombuffer(bytes, { offset = 8, count = 1, byteorder = order })[1]
    if length < 0 then
      fail 'a packet has a negative length'
    elseif #bytes < 16 + length then
      break
    end
    count, total = count + 1, total + length
    print(('%d: %s'):format(count, describe(bytes:view('uint8', 16, length))))
    waiting.drop(16 + length)
    bytes = waiting.bytes()
  end
end
file:close()
if not order then
  fail(name .. ' is not a pcap file')
end
print(('%d packets of %d bytes'):format(count, total))
