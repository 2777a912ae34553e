-- Helpers for specs of complex classes: the class of a part, the other complex class, and elements as text.
local complex = {}

complex.PART = { ComplexFloat = 'Float', ComplexDouble = 'Double' }
complex.OTHER = { ComplexFloat = 'ComplexDouble', ComplexDouble = 'ComplexFloat' }

-- Whether two numbers are the same. Zeros of different sign differ; any NaN equals any other.
function complex.same(a, b)
  return a == b and 1 / a == 1 / b or a ~= a and b ~= b
end

-- Both numbers with all their digits.
function complex.show(re, im)
  return ('%.17g %.17g'):format(re, im)
end

-- The elements of a storage, read one by one, as text: '1,-2 3,0'.
function complex.text_of(s)
  local elements = {}
  for i = 1, #s do
    elements[i] = ('%g,%g'):format(s:get(i))
  end
  return table.concat(elements, ' ')
end

return complex
