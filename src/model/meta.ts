import { z } from 'zod'
import { DeviceIdentifier, Timestamp } from '#model/identifier'
import { isJsonObject, type JsonObject, type JsonValue, jsonBytesOf, jsonWithin } from '#model/json-value'

/** What is known about a device besides its properties, and how people change their part of it. §2.5, contract 3.10. */

/** `online`: linked and answering. `idle`: a ping is unanswered. `offline`: no link. */
export const DeviceStatus = z.enum(['online', 'idle', 'offline'])
export type DeviceStatus = z.infer<typeof DeviceStatus>

/** 64 KiB as JSON, of a patch and of what it leads to: meta is read whole into every list. */
export const metaBytesMax = 65_536

/** Objects and arrays inside each other, the outermost counted, so that what merges and shows them may recurse. */
export const metaDepthMax = 16

/** Looked through before; nothing is left to check. */
const anyJson = z.unknown() as unknown as z.ZodType<JsonValue>

/**
 * What people recorded about a device: any object of well-formed JSON within the limits above, without the keys
 * `__proto__` and `constructor`.
 */
export const Meta = jsonWithin(z.record(z.string(), anyJson), { depthMax: metaDepthMax, bytesMax: metaBytesMax })
export type Meta = JsonObject

/** A merge patch of `meta`, RFC 7396: `null` deletes, everything else replaces or merges. Same limits. */
export const MetaPatch = Meta
export type MetaPatch = JsonObject

/**
 * `lastMessage` and `lastConnect` in Unix milliseconds, 0 for never; `numConnects` since the server started.
 * Lists without depth leave `meta`, `lastConnect` and `numConnects` out.
 */
export const MetaRecord = z.object({
  deviceIdentifier: DeviceIdentifier,
  status: DeviceStatus,
  lastMessage: Timestamp,
  lastConnect: Timestamp.optional(),
  numConnects: z.int().min(0).optional(),
  meta: Meta.optional(),
})
export type MetaRecord = Readonly<z.infer<typeof MetaRecord>>

/** What a patch leads to, or why it may not. */
export type MetaChange = { readonly meta: Meta } | { readonly refusal: string }

/** A checked patch applied to what stands, unless the result passes a limit. */
export function changeMeta(meta: Meta, patch: MetaPatch): MetaChange {
  const changed = mergePatch(meta, patch) as Meta
  return jsonBytesOf(changed) > metaBytesMax
    ? { refusal: `the result must be at most ${metaBytesMax} bytes as JSON` }
    : { meta: changed }
}

/** RFC 7396 §2. Neither argument is changed; the result shares what the patch did not touch. */
export function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch
  const merged = new Map<string, JsonValue>(isJsonObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, mergePatch(merged.get(key), value))
  }
  // Defines properties, never sets them: no key can reach a prototype.
  return Object.fromEntries(merged)
}
