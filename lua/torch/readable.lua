-- Tables that say what they hold: `print` shows that instead of an address.

local setmetatable, type = setmetatable, type

-- Returns a function that gives tables this text. `text` is a text, or a function that makes one of a table.
return function(text)
  local metatable = {
    __tostring = type(text) == 'string' and function()
      return text
    end or text,
  }
  return function(object)
    return setmetatable(object, metatable)
  end
end
