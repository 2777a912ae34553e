-- The complete text of any value: equal texts mean equal contents. Shared objects get a number where they first appear and are
-- written as #3 where they appear again. Keys are sorted, numbers are exact, storages are written as class and bytes, tensors as
-- class, sizes, strides, offset and storage.
local torch = require 'torch'

local function number(n)
  if n ~= n then
    return 'nan'
  elseif n == 0 then
    return 1 / n < 0 and '-0' or '0'
  end
  return ('%.17g'):format(n)
end

local ORDER = { boolean = 1, number = 2, string = 3 }

-- Keys without an order come last, in the order of the traversal.
local function before(a, b)
  local first, second = ORDER[type(a)] or 4, ORDER[type(b)] or 4
  if first ~= second then
    return first < second
  elseif first == 2 or first == 3 then
    return a < b
  end
  return tostring(a) < tostring(b)
end

local function bytes(s)
  return (s:string():gsub('.', function(c)
    return ('%02x'):format(c:byte())
  end))
end

-- Without recursion, because specs have objects of any depth. `out` is the text so far; `todo` is the stack of the values to
-- write.
return function(value)
  local out, seen, count = {}, {}, 0
  local todo = { { value = value } }

  -- Returns whether the object was seen before. Writes its number in either case.
  local function known(identity)
    if seen[identity] then
      out[#out + 1] = '#' .. seen[identity]
      return true
    end
    count = count + 1
    seen[identity] = count
    out[#out + 1] = count .. ':'
    return false
  end

  local function write(v)
    if torch.isStorage(v) then
      if not known('storage ' .. torch.pointer(v)) then
        out[#out + 1] = ('%s[%d]<%s>'):format(torch.typename(v), #v, bytes(v))
      end
    elseif torch.isTensor(v) then
      if not known(v) then
        local sizes, strides = table.concat(v:size():totable(), 'x'), table.concat(v:stride():totable(), ',')
        out[#out + 1] = ('%s[%s by %s from %d]'):format(torch.typename(v), sizes, strides, v:storageOffset())
        todo[#todo + 1] = { value = v:storage() }
      end
    elseif type(v) == 'table' then
      if not known(v) then
        local keys = {}
        for key in next, v do
          keys[#keys + 1] = key
        end
        table.sort(keys, before)
        out[#out + 1] = torch.isRecord(v) and 'record {' or (torch.typename(v) or '') .. '{'
        todo[#todo + 1] = { text = '}' }
        for i = #keys, 1, -1 do
          todo[#todo + 1] = { text = ', ' }
          todo[#todo + 1] = { value = v[keys[i]] }
          todo[#todo + 1] = { text = '=' }
          todo[#todo + 1] = { value = keys[i] }
        end
      end
    elseif type(v) == 'number' then
      out[#out + 1] = number(v)
    elseif type(v) == 'string' then
      out[#out + 1] = ('%q'):format(v)
    else
      out[#out + 1] = tostring(v)
    end
  end

  while #todo > 0 do
    local next_one = table.remove(todo)
    if next_one.text then
      out[#out + 1] = next_one.text
    else
      write(next_one.value)
    end
  end
  return table.concat(out)
end
