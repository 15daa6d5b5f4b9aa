import type { LinkCodec } from '#link/codec'
import { jsonCodec } from '#link/json-codec'
import { msgpackCodec } from '#link/msgpack-codec'

/** By the subprotocol that chooses it. Contract 7. */
export const linkCodecs = {
  'link.v1.json': jsonCodec,
  'link.v1.msgpack': msgpackCodec,
} as const satisfies Readonly<Record<string, LinkCodec>>
