-- Wireshark's and tshark's dissector of Canopy's packets. Made by `canopy wireshark` from the layouts that the protocols'
-- packages declare: the tables below; this part only walks through them.
--
-- UDP datagrams are recognised by their header; those that are not taken can be decoded as CANOPY by hand.

--@TABLES@

local canopy = Proto("canopy", "Canopy")
local truncated = ProtoExpert.new("canopy.truncated", "shorter than its fields", expert.group.MALFORMED, expert.severity.ERROR)
canopy.experts = { truncated }

local protocol_names = {}
for number, protocol in pairs(PROTOCOLS) do protocol_names[number] = protocol.name end

local header = {
    version = ProtoField.uint8("canopy.version", "Version"),
    protocol = ProtoField.uint8("canopy.protocol", "Protocol", base.DEC, protocol_names),
    type = ProtoField.uint8("canopy.type", "Type"),
    flags = ProtoField.uint8("canopy.flags", "Flags", base.HEX),
    session = ProtoField.uint32("canopy.session", "Session"),
    epoch = ProtoField.uint8("canopy.sealed.epoch", "Epoch"),
    sender = ProtoField.uint64("canopy.sealed.sender", "Sender", base.HEX),
    counter = ProtoField.uint32("canopy.sealed.counter", "Counter"),
    sealed_at = ProtoField.uint32("canopy.sealed.sealed_at", "Sealed at"),
    sealed = ProtoField.bytes("canopy.sealed.packet", "Packet"),
    tag = ProtoField.bytes("canopy.sealed.tag", "Tag"),
    hop_counter = ProtoField.uint64("canopy.hop.counter", "Hop's counter"),
    hop_tag = ProtoField.uint64("canopy.hop.tag", "Hop's tag", base.HEX),
}

-- Every field of every layer, by its place in the tables.
local made = {}
local fields = {}
for _, field in pairs(header) do table.insert(fields, field) end

local function make_field(layer, field)
    local abbreviation = layer.filter .. "." .. field.name
    local kind = field.kind
    local made_field
    if kind == "bytes" then
        made_field = ProtoField.bytes(abbreviation, field.name)
    elseif kind == "ipv4" then
        made_field = ProtoField.ipv4(abbreviation, field.name)
    elseif field.bits > 32 then
        made_field = ProtoField.uint64(abbreviation, field.name)
    else -- uint, or narrow: no multiple of eight bits
        local make = { [1] = ProtoField.uint8, [2] = ProtoField.uint16, [4] = ProtoField.uint32 }
        made_field = make[math.max(1, math.floor(field.bits / 8))](abbreviation, field.name, base.DEC, field.values)
    end
    made[field] = made_field
    table.insert(fields, made_field)
end

local function make_fields(layer)
    for _, field in ipairs(layer.fields) do
        if field.kind ~= "list" then
            make_field(layer, field)
        elseif not made[field.item] then
            made[field.item] = true
            make_fields(field.item)
        end
    end
end

for _, protocol in pairs(PROTOCOLS) do
    for _, layer in pairs(protocol.types) do
        if not made[layer] then
            made[layer] = true
            make_fields(layer)
        end
    end
end
canopy.fields = fields

-- Bytes that a layer has at least.
local function least_bytes(layer)
    local bits = 0
    for _, field in ipairs(layer.fields) do bits = bits + (field.bits or 0) end
    return bits / 8
end

-- Adds a layer's fields, from byte `at` on; returns where it ends, or nil when the datagram does first.
local function dissect_layer(layer, tvb, at, tree)
    local values = {}
    local bits = 0 -- of the present byte that narrow fields have taken
    for _, field in ipairs(layer.fields) do
        if field.kind == "list" then
            for _ = 1, values[field.count] do
                local item_tree = tree:add(canopy, tvb(at, 0), field.item.title)
                local item_end = dissect_layer(field.item, tvb, at, item_tree)
                if not item_end then return nil end
                item_tree:set_len(item_end - at)
                at = item_end
            end
        elseif field.kind == "narrow" then
            local bytes = math.floor((bits + field.bits + 7) / 8)
            if at + bytes > tvb:len() then return nil end
            local value = tvb(at, bytes):bitfield(bits, field.bits)
            tree:add(made[field], tvb(at, bytes), value)
            values[field.name] = value
            bits = bits + field.bits
            at, bits = at + math.floor(bits / 8), bits % 8
        else
            local bytes = field.length and values[field.length] or field.bits / 8
            if at + bytes > tvb:len() then return nil end
            if bytes > 0 then
                tree:add(made[field], tvb(at, bytes))
                if field.kind == "uint" then values[field.name] = tvb(at, bytes):uint() end
            end
            at = at + bytes
        end
    end
    return at, values
end

-- How much of a sealed packet is open for switches, or nil.
local function open_head(tvb)
    if tvb:len() < HEADER_BYTES or tvb(0, 1):uint() ~= HEADED_VERSION then return nil end
    local protocol = PROTOCOLS[tvb(1, 1):uint()]
    local head = protocol and protocol.heads[tvb(2, 1):uint()]
    if not head or (head.flags ~= 0 and bit.band(tvb(3, 1):uint(), head.flags) == 0) then return nil end
    local rest = tvb:len() - head.size
    if head.is_feedback then return rest == SEAL_BYTES + HOP_BYTES and head or nil end
    return rest >= SEALED_BYTES + TAG_BYTES and head or nil
end

-- Who sealed a packet: sender, counter and time. Where they end.
local function dissect_who(tvb, at, tree)
    tree:add(header.sender, tvb(at, 8))
    tree:add(header.counter, tvb(at + 8, 4))
    tree:add(header.sealed_at, tvb(at + 12, 4))
    return at + 16
end

-- What stands behind an open head.
local function dissect_rest(head, tvb, tree)
    tree:add(header.epoch, tvb(head.size, 1))
    local at = dissect_who(tvb, head.size + (head.is_feedback and 1 or 4), tree)
    if head.is_feedback then
        tree:add(header.tag, tvb(at, 8))
        local hop = head.size + SEAL_BYTES
        tree:add(header.hop_counter, tvb(hop, HOP_BYTES - 8))
        tree:add(header.hop_tag, tvb(hop + HOP_BYTES - 8, 8))
        return
    end
    local ends = tvb:len() - TAG_BYTES
    if ends > at then tree:add(header.sealed, tvb(at, ends - at)) end
    tree:add(header.tag, tvb(ends, TAG_BYTES))
end

local function layer_of(tvb)
    if tvb:len() < HEADER_BYTES or (tvb(0, 1):uint() ~= VERSION and not open_head(tvb)) then return nil end
    local protocol = PROTOCOLS[tvb(1, 1):uint()]
    local layer = protocol and protocol.types[tvb(2, 1):uint()]
    return layer, protocol
end

local function is_sealed(tvb)
    return tvb:len() >= SEALED_BYTES + TAG_BYTES and tvb(0, 1):uint() == SEALED_VERSION and
        tvb(3, 1):uint() > 0 and (tvb(1, 1):uint() == 0 or PROTOCOLS[tvb(1, 1):uint()] ~= nil)
end

-- Of a sealed packet only the beginning can be read.
local function dissect_sealed(tvb, pinfo, root)
    local protocol = PROTOCOLS[tvb(1, 1):uint()]
    local layer = protocol and protocol.types[tvb(2, 1):uint()]
    local title = (protocol and protocol.name or "packet") .. (layer and " " .. layer.types[tvb(2, 1):uint()] or "")
    pinfo.cols.protocol = "CANOPY"
    pinfo.cols.info = "sealed " .. title .. " epoch=" .. tvb(3, 1):uint() .. " counter=" .. tvb(12, 4):uint()
    local tree = root:add(canopy, tvb(), "Canopy, sealed " .. title)
    tree:add(header.version, tvb(0, 1))
    tree:add(header.protocol, tvb(1, 1))
    tree:add(header.type, tvb(2, 1))
    tree:add(header.epoch, tvb(3, 1))
    dissect_who(tvb, 4, tree)
    tree:add(header.sealed, tvb(SEALED_BYTES, tvb:len() - SEALED_BYTES - TAG_BYTES))
    tree:add(header.tag, tvb(tvb:len() - TAG_BYTES, TAG_BYTES))
    return tvb:len()
end

function canopy.dissector(tvb, pinfo, root)
    if is_sealed(tvb) then return dissect_sealed(tvb, pinfo, root) end
    local layer, protocol = layer_of(tvb)
    if not layer then return 0 end
    pinfo.cols.protocol = protocol.name
    local session = tvb(4, 4):uint()
    local title = protocol.name .. " " .. layer.types[tvb(2, 1):uint()]
    local tree = root:add(canopy, tvb(), "Canopy, " .. title .. ", session " .. session)
    tree:add(header.version, tvb(0, 1))
    tree:add(header.protocol, tvb(1, 1))
    tree:add(header.type, tvb(2, 1)):append_text(" (" .. layer.types[tvb(2, 1):uint()] .. ")")
    tree:add(header.flags, tvb(3, 1))
    tree:add(header.session, tvb(4, 4))
    local head = open_head(tvb)
    local ends, values = dissect_layer(layer, head and tvb(0, head.size):tvb() or tvb, HEADER_BYTES, tree)
    local info = title .. " session=" .. session
    if head then
        info = "sealed " .. info
        dissect_rest(head, tvb, tree)
    elseif not ends then
        tree:add_proto_expert_info(truncated)
    else
        for _, name in ipairs({ "seq", "cumulative", "round", "reason" }) do
            if values[name] then info = info .. " " .. name .. "=" .. values[name] end
        end
    end
    pinfo.cols.info = info
    return tvb:len()
end

canopy:register_heuristic("udp", function(tvb, pinfo, root)
    if is_sealed(tvb) then
        canopy.dissector(tvb, pinfo, root)
        return true
    end
    local layer = layer_of(tvb)
    if open_head(tvb) then
        canopy.dissector(tvb, pinfo, root)
        return true
    end
    if not layer or tvb:len() < HEADER_BYTES + least_bytes(layer) then return false end
    canopy.dissector(tvb, pinfo, root)
    return true
end)

DissectorTable.get("udp.port"):add_for_decode_as(canopy)
