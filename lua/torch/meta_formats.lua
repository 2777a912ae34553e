---@meta _
-- Types and documentation of safetensors, npy and npz files, for editors (LuaCATS). docs/api-formats.md is made from this file by
-- tools/api.lua, and the rest of the interface is in meta.lua. The file holds declarations only: the library never loads it.
-- luacheck: ignore 212 241

---@class torch
local torch = {}

---Functions for safetensors files.
torch.safetensors = {}

---Functions for npy files.
torch.npy = {}

---Functions for npz files.
torch.npz = {}

-- safetensors ---------------------------------------------------------------------------------------------------------

-- npy -----------------------------------------------------------------------------------------------------------------

-- npz -----------------------------------------------------------------------------------------------------------------
