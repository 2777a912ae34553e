-- The public module: the table of torch.storage, also as the global `torch`.
local module = require 'torch.storage'
torch = module
return module
