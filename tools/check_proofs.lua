-- Whether each proof of unsafe code cites a rule that exists, and says more than the names of rules.
--
--   luajit tools/check_proofs.lua     (from the project's directory)
--
-- A proof is a comment that begins with `SAFETY:`. The rules have a section each in docs/architecture.md, and torch.mpi has one
-- more in mpi/src/lib.rs.
local files = require 'tools.files'

local rules = {}
for rule in files.read('docs/architecture.md'):gmatch '\n### %[([%l-]+)%]' do
  rules[rule] = true
end
for rule in files.read('mpi/src/lib.rs'):gmatch '\n//! %- `%[([%l-]+)%]`' do
  rules[rule] = true
end

local proofs, problems = 0, 0

local function check(name, line, proof)
  proofs = proofs + 1
  local cited
  local fact = proof:gsub('%[([%l-]+)%]', function(rule)
    cited = true
    return rules[rule] and ''
  end)
  local unknown = fact:match '%[([%l-]+)%]'
  local problem = unknown and ('cites the rule [%s], which does not exist'):format(unknown)
    or not cited and 'cites no rule'
    or not fact:find '%w' and 'names a rule and does not say why it holds here'
  if problem then
    problems = problems + 1
    print(('%s:%d: the proof %s: %s'):format(name, line, problem, proof))
  end
end

for _, name in ipairs(files.list "find src mpi/src fuzz/fuzz_targets tests examples benches -name '*.rs' | sort") do
  local number, begin, proof = 0, nil, nil
  for line in (files.read(name) .. '\n'):gmatch '(.-)\r?\n' do
    number = number + 1
    local first, more = line:match '^%s*// SAFETY: *(.*)', line:match '^%s*//[^/!]%s*(.*)'
    if proof and (first or not more) then
      check(name, begin, proof)
      proof = nil
    end
    if first then
      begin, proof = number, first
    elseif proof then
      proof = proof .. ' ' .. more
    end
  end
end

print(('%d proofs, %d problems'):format(proofs, problems))
os.exit(problems == 0 and proofs > 0)
