-- The contents of the hostile files that spec/support/hostile_t7/make.lua writes. Each case has a name, an expectation, and a
-- function that returns the bytes in a format. The expectation is a pattern of the error, `false` if the file is odd but valid,
-- or `nil` if it may load or fail.
local made = require 'spec.support.made'

local cases = {}

local function case(name, refused, build)
  cases[#cases + 1] = { name = name, refused = refused, build = build }
end

local MAX_INT, MIN_INT = 2 ^ 31 - 1, -2 ^ 31
local AT = 'at byte %d+'

-- Lengths of strings, class names, code.
for title, length in pairs { minus_one = -1, smallest = MIN_INT, largest = MAX_INT, two_more = 5 } do
  case('string_length_' .. title, AT, function(f)
    return f.string('abc', length) .. (length == 5 and '' or ('x'):rep(100))
  end)
  case('class_length_' .. title, AT, function(f)
    return f.int(made.TORCH) .. f.int(1) .. f.bytes 'V 1' .. f.bytes('abc', length)
  end)
  case('version_length_' .. title, AT, function(f)
    return f.int(made.TORCH) .. f.int(1) .. f.bytes('V 1', length)
  end)
  case('code_length_' .. title, AT, function(f)
    return f.int(8) .. f.int(1) .. f.bytes('abc', length)
  end)
  case('old_code_length_' .. title, AT, function(f)
    return f.int(6) .. f.bytes('abc', length)
  end)
end

-- Counts of tables.
for title, count in pairs { minus_one = -1, smallest = MIN_INT, largest = MAX_INT, one_more = 2 } do
  case('table_count_' .. title, AT, function(f)
    return f.pairs(1, { f.number(1), f.number(2) }, count)
  end)
end
case('table_count_many_times', AT, function(f)
  local parts = {}
  for i = 1, 200 do
    parts[i] = f.int(made.TABLE) .. f.int(i) .. f.int(300) .. f.number(1)
  end
  return table.concat(parts)
end)

-- Tags.
for _, tag in ipairs { -1, 9, 10, 100, 255, 256, MAX_INT, MIN_INT } do
  case('tag_' .. ('%.0f'):format(tag), AT, function(f)
    return f.int(tag) .. f.int(1) .. f.int(1)
  end)
  case('tag_inside_' .. ('%.0f'):format(tag), AT, function(f)
    return f.table(1, { f.string 'x', f.int(tag) .. f.int(1) .. f.int(1) })
  end)
end

-- Sizes of storages.
for title, size in pairs {
  minus_one = -1,
  smallest = -2 ^ 62,
  largest = made.MAX_LONG,
  wraps_to_nothing = 2 ^ 62,
  wraps_to_little = 2 ^ 61 + 1,
  of_4_GiB = 2 ^ 32,
  of_2_GiB = 2 ^ 31,
  one_more = 4,
} do
  for _, T in ipairs { 'Byte', 'Int', 'Double' } do
    case(('storage_%s_size_%s'):format(T, title), AT, function(f)
      local bytes = f.storage(1, T, { 1, 2, 3 }, size)
      return T == 'Byte' and bytes:gsub('\n$', '') or bytes
    end)
  end
end
for title, size in pairs { minus_one = -1, largest = made.MAX_LONG, of_2_GiB = 2 ^ 29, one_more = 3 } do
  case('storage_Cuda_size_' .. title, AT, function(f)
    return f.head(1, 'torch.CudaStorage') .. f.long(size) .. f.elements('Float', { 1, 2 })
  end)
end

-- Indices of objects.
for _, index in ipairs { 0, -1, MAX_INT, MIN_INT } do
  local title = ('%.0f'):format(index)
  case('index_' .. title, nil, function(f)
    return f.table(index, { f.storage(1, 'Int', { 7 }), f.reference(made.TABLE, index), f.reference(made.TORCH, 1) })
  end)
  case('index_of_nothing_' .. title, AT, function(f)
    return f.table(1, { f.reference(made.TORCH, index) })
  end)
end
case('reference_to_a_later_object', nil, function(f)
  return f.table(1, { f.reference(made.TABLE, 3), f.pairs(3, {}) })
end)
case('reference_to_another_kind', nil, function(f)
  return f.table(1, { f.reference(made.TORCH, 1), f.reference(8, 1), f.reference(7, 1) })
end)
case('index_twice', nil, function(f)
  return f.table(1, { f.pairs(2, { f.string 'x', f.pairs(2, {}) }), f.pairs(2, {}) })
end)
case('table_is_its_own_key', false, function(f)
  return f.pairs(1, { f.reference(made.TABLE, 1), f.reference(made.TABLE, 1) })
end)
case('record_is_its_own_key', false, function(f)
  return f.head(1, 'nn.A') .. f.pairs(2, { f.reference(made.TORCH, 1), f.number(1) })
end)
case('record_is_its_own_fields', nil, function(f)
  return f.head(1, 'nn.A') .. f.reference(made.TORCH, 1)
end)
case('function_is_its_own_upvalues', nil, function(f)
  return f.code(8, 1, 'code', f.reference(8, 1))
end)

-- Keys.
case('key_nil', AT, function(f)
  return f.pairs(1, { f.null, f.number(1) })
end)
case('key_nan', AT, function(f)
  return f.pairs(1, { f.number(0 / 0), f.number(1) })
end)
case('key_nan_value_nil', nil, function(f)
  return f.pairs(1, { f.number(0 / 0), f.null })
end)
case('keys_equal', nil, function(f)
  return f.pairs(1, { f.number(0), f.number(1), f.number(0), f.number(2), f.boolean(true), f.null })
end)

-- Tensors: { size, stride, offset } over 6 doubles.
local L = made.MAX_LONG
for title, shape in pairs {
  beyond = { { 2, 4 }, { 3, 1 }, 1 },
  beyond_by_offset = { { 6 }, { 1 }, 2 },
  beyond_by_stride = { { 2 }, { 6 }, 1 },
  beyond_far = { { 2 }, { 2 ^ 61 }, 1 },
  size_negative = { { -1 }, { 1 }, 1 },
  size_largest = { { L }, { 1 }, 1 },
  size_overflows = { { 2 ^ 32, 2 ^ 32 }, { 2 ^ 32, 1 }, 1 },
  size_overflows_to_little = { { 2 ^ 62, 4, 6 }, { 1, 1, 1 }, 1 },
  stride_largest = { { 2 }, { L }, 1 },
  stride_overflows = { { 3, 3 }, { 2 ^ 62, 2 ^ 62 }, 1 },
  stride_negative = { { 2 }, { -1 }, 1 },
  strides_cancel = { { 2, 2 }, { 2 ^ 62, -2 ^ 62 }, 1 },
  offset_zero = { { 2 }, { 1 }, 0 },
  offset_negative = { { 2 }, { 1 }, -1 },
  offset_smallest = { { 2 }, { 1 }, -2 ^ 63 },
  offset_largest = { { 2 }, { 1 }, L },
} do
  case('tensor_' .. title, AT, function(f)
    return f.tensor(1, 'torch.DoubleTensor', shape[1], shape[2], shape[3], f.storage(2, 'Double', { 1, 2, 3, 4, 5, 6 }))
  end)
end
for title, shape in pairs {
  size_zero = { { 0, 2 ^ 62 }, { L, L }, 1 },
  offset_after_nothing = { { 0 }, { 1 }, 100 },
  expanded = { { 2 ^ 40, 2 ^ 40 }, { 0, 0 }, 1 },
  expanded_beyond_all = { { 2 ^ 62, 2 ^ 62, 2 ^ 62 }, { 0, 0, 0 }, 6 },
} do
  case('tensor_' .. title, nil, function(f)
    return f.tensor(1, 'torch.DoubleTensor', shape[1], shape[2], shape[3], f.storage(2, 'Double', { 1, 2, 3, 4, 5, 6 }))
  end)
end
for title, dimensions in pairs { minus_one = -1, smallest = MIN_INT, largest = MAX_INT, many = 2 ^ 28 } do
  case('tensor_dimensions_' .. title, AT, function(f)
    return f.tensor(1, 'torch.DoubleTensor', { 2 }, { 1 }, 1, f.storage(2, 'Double', { 1, 2 }), dimensions)
  end)
end
case('tensor_of_itself', AT, function(f)
  return f.tensor(1, 'torch.IntTensor', { 1 }, { 1 }, 1, f.reference(made.TORCH, 1))
end)
case('tensor_of_another_class', AT, function(f)
  return f.tensor(1, 'torch.IntTensor', { 1 }, { 1 }, 1, f.storage(2, 'Double', { 1 }))
end)
case('tensor_of_the_class_without_CUDA', AT, function(f)
  return f.tensor(1, 'torch.CudaTensor', { 1 }, { 1 }, 1, f.storage(2, 'Double', { 1 }))
end)
case('tensor_of_nothing', AT, function(f)
  return f.tensor(1, 'torch.IntTensor', { 1 }, { 1 }, 1, f.null)
end)
case('tensor_of_a_number', AT, function(f)
  return f.tensor(1, 'torch.IntTensor', { 1 }, { 1 }, 1, f.number(5))
end)
case('tensor_of_a_string', AT, function(f)
  return f.tensor(1, 'torch.IntTensor', { 1 }, { 1 }, 1, f.string 'storage')
end)
case('tensor_of_a_table', AT, function(f)
  return f.tensor(1, 'torch.IntTensor', { 1 }, { 1 }, 1, f.pairs(2, {}))
end)

-- Names and versions.
for title, name in pairs {
  empty = '',
  zero = 'nn.\0Linear',
  dots = '....',
  torch = 'torch',
  a_function = 'torch.getmetatable',
  a_library = 'os.exit',
  storage_and_more = 'torch.IntStorage.',
  storage_with_zero = 'torch.IntStorage\0',
  the_record_of_functions = 'function',
  metamethod = '__index',
  format = '%s%n%d',
  escape = '\27[2J\7\r\n',
  long = ('n'):rep(5000),
} do
  case('class_' .. title, nil, function(f)
    return f.head(1, name) .. f.pairs(2, { f.string 'tag', f.number(8), f.string 'code', f.string 'x' })
  end)
end
for title, version in pairs {
  empty = '',
  negative = '-1',
  of_int64 = '9223372036854775807',
  beyond_int64 = '99999999999999999999',
  fraction = '1.5',
  hexadecimal = '0x10',
  junk = '1x',
  spaces = '   1 ',
  plus = '+1',
  infinite = 'inf',
  long = ('9'):rep(5000),
} do
  case('version_' .. title, nil, function(f)
    return f.head(1, 'nn.A', version) .. f.pairs(2, {})
  end)
end
case('version_and_nothing', AT, function(f)
  return f.int(made.TORCH) .. f.int(1) .. f.bytes 'V 1'
end)
case('version_twice', nil, function(f)
  return f.int(made.TORCH) .. f.int(1) .. f.bytes 'V 1' .. f.bytes 'V 1' .. f.pairs(2, {})
end)

-- Functions.
for tag = 6, 8 do
  for title, object in pairs { null = 'null', number = 'number', boolean = 'boolean' } do
    case(('function_%d_upvalues_%s'):format(tag, title), nil, function(f)
      return f.code(tag, 1, 'x', object == 'null' and f.null or f[object](1))
    end)
  end
end

-- Booleans.
for _, value in ipairs { 2, -1, MAX_INT } do
  case('boolean_' .. ('%.0f'):format(value), false, function(f)
    return f.int(made.BOOLEAN) .. f.int(value)
  end)
end

-- Text that is not a number, or an unusual one. Only in ascii files.
for title, text in pairs {
  empty = '',
  letters = 'abc',
  exponent_without_digits = '1e',
  hexadecimal_without_digits = '0x',
  sign_only = '-',
  zero_byte = '\0',
} do
  case('text_number_' .. title, AT, function(f)
    return f == made.formats.ascii and f.int(made.NUMBER) .. text .. '\n' or nil
  end)
end
for title, text in pairs {
  exponent_of_a_billion = '1e999999999',
  exponent_of_minus_a_billion = '1e-999999999',
  exponent_beyond_int64 = '1e99999999999999999999',
  of_5000_digits = ('9'):rep(5000),
  of_5000_zeros = '0.' .. ('0'):rep(5000) .. '1',
  nan_with_text = 'nan(' .. ('x'):rep(5000) .. ')',
  nan_not_closed = 'nan(xyz',
  hexadecimal = '0x1.8p1',
} do
  case('text_number_' .. title, nil, function(f)
    return f == made.formats.ascii and f.int(made.NUMBER) .. text .. '\n' or nil
  end)
end
case('text_spaces', nil, function(f)
  return f == made.formats.ascii and (' \n\t\r'):rep(2000) .. '1' .. (' '):rep(5000) .. '5\n' or nil
end)
case('text_int_beyond', nil, function(f)
  return f == made.formats.ascii and '99999999999999999999999999\n1\n' or nil
end)
case('text_bytes_without_newline', nil, function(f)
  return f == made.formats.ascii and '4\n1\n3\nV 1\n17\ntorch.ByteStorage\n3\nabc' or nil
end)

-- pairs() has no fixed order; this list has the same order everywhere.
table.sort(cases, function(a, b)
  return a.name < b.name
end)

-- The formats that the files are written in.
cases.FORMATS = { 'b64', 'ascii' }

function cases.path(name, format)
  return ('spec/support/hostile_t7/%s.%s.t7'):format(name, format)
end

return cases
