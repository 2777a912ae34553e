-- Refuses requests from addresses in a list of any length. The list is a mapped file of sorted integers, so all workers share
-- its pages, and a search reads some thirty elements, however many there are. addresses.conf uses this file, and says how to
-- start it.
local torch = require 'torch'

local addresses = {}

-- Opens the list: a file that examples/addresses.lua has made. nginx opens a new list when it reloads its configuration.
function addresses.open(path)
  local list = torch.UInt32Storage { filename = path, readonly = true }

  -- Whether an address is in the list. It has four bytes, as ngx.var.binary_remote_addr of a client with an IPv4 address.
  return function(address)
    if #address ~= 4 then
      return false
    end
    local a, b, c, d = address:byte(1, 4)
    local number = ((a * 256 + b) * 256 + c) * 256 + d
    local place = list:search(number)
    return place <= #list and list[place] == number
  end
end

return addresses
