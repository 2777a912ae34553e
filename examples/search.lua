-- Searches text: each line of a file becomes a vector, and a file keeps the vectors. The lines that are most similar to a
-- question are those whose vectors are nearest.
local HELP = [[
search.lua INDEX TEXT [QUESTION ...] finds the lines of a text that are most similar to a question.

  INDEX     the npy file of the vectors: a half-precision number for each of 256 features of a line
  TEXT      the text; a line is what is found
  QUESTION  some words; without them, INDEX is made from TEXT

A feature is how often pieces of three letters occur, so lines with similar words are similar. A program with a language model
takes the vectors of the model instead, and everything else stays the same.

The exit status is 0, and 1 after an error.
]]
if arg[1] == '--help' then
  io.write(HELP)
  os.exit(0)
end

local torch = require 'torch'

local SIZE = 256

local function fail(message)
  io.stderr:write('search: ', message, '\n')
  os.exit(1)
end

-- A number from 1 to SIZE for a piece of text, the same on every Lua.
local function place(piece)
  local hash = 0
  for i = 1, #piece do
    hash = (hash * 31 + piece:byte(i)) % 65521
  end
  return hash % SIZE + 1
end

-- Adds the pieces of a text to a vector, which then has length 1.
local function embed(text, vector)
  vector:fill(0)
  for word in text:lower():gmatch '%w+' do
    local padded = ' ' .. word .. ' '
    for i = 1, #padded - 2 do
      local at = place(padded:sub(i, i + 2))
      vector[at] = vector[at] + 1
    end
  end
  local length = vector:norm()
  return length > 0 and vector:mul(1 / length) or vector
end

local function lines_of(path)
  local lines = {}
  for line in io.lines(path) do
    lines[#lines + 1] = line
  end
  return lines
end

-- Shows how much is done, on one line of the terminal.
local function progress(done, total)
  local parts = math.floor(40 * done / total)
  io.stderr:write(('\r[%s%s] %3d %%'):format(('#'):rep(parts), (' '):rep(40 - parts), math.floor(100 * done / total)))
  if done == total then
    io.stderr:write '\n'
  end
end

local function build(index, text)
  local lines = lines_of(text)
  if #lines == 0 then
    error(text .. ' has no lines', 0)
  end
  local vectors = torch.HalfTensor(#lines, SIZE)
  local vector = torch.FloatTensor(SIZE)
  for i, line in ipairs(lines) do
    vectors[i]:copy(embed(line, vector))
    if i % 1000 == 0 or i == #lines then
      progress(i, #lines)
    end
  end
  torch.npy.save(index, vectors)
  print(('%d lines, %d bytes'):format(#lines, vectors:nbytes()))
end

local function ask(index, text, question)
  local lines = lines_of(text)
  -- The file is mapped: only the pages that are read take memory, and all processes share them.
  local vectors = torch.npy.load(index)
  if vectors:size(1) ~= #lines then
    error(('%s was made of %d lines, and %s has %d'):format(index, vectors:size(1), text, #lines), 0)
  end
  -- All vectors have length 1, so their product is the cosine of their angle.
  local rows, scores = vectors:nearest(embed(question, torch.FloatTensor(SIZE)), 5, { metric = 'dot' })
  for i = 1, #rows do
    print(('%.2f  %s'):format(scores[i], lines[tonumber(rows[i])]))
  end
end

local index, text = arg[1], arg[2]
if not text then
  fail 'give a file of vectors and a text, or --help'
end
local ok, message = pcall(arg[3] and ask or build, index, text, table.concat(arg, ' ', 3))
if not ok then
  fail(message)
end
