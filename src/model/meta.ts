import { z } from 'zod'
import { DeviceIdentifier, Timestamp } from '#model/identifier'
import { isJsonObject, type JsonObject, type JsonValue, jsonBytesOf, jsonWithin } from '#model/json-value'

/** The metadata of a device, and the part of it that users change. §2.5, contract 3.10. */

/**
 * `online`: connected and answering, or reported by HTTP in the last minute. `idle`: connected, but a ping is
 * unanswered. `offline`: neither.
 */
export const DeviceStatus = z.enum(['online', 'idle', 'offline'])
export type DeviceStatus = z.infer<typeof DeviceStatus>

/** The limit for a patch and for its result, 64 KiB as JSON: lists may contain the whole metadata of every device. */
export const metaBytesMax = 65_536

/** Nesting of objects and arrays, the outermost counted, so that recursive merging is safe. */
export const metaDepthMax = 16

/** `jsonWithin` has already checked these values. */
const anyJson = z.unknown() as unknown as z.ZodType<JsonValue>

/**
 * Metadata stored by users: any object of well-formed JSON within `metaBytesMax` and `metaDepthMax`, without the keys
 * `__proto__` and `constructor`.
 */
export const Meta = jsonWithin(z.record(z.string(), anyJson), { depthMax: metaDepthMax, bytesMax: metaBytesMax })
export type Meta = JsonObject

/**
 * A merge patch of `meta`, RFC 7396: `null` deletes, any other value replaces or merges. The limits are those of
 * `Meta`.
 */
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

/** The result of a patch, or the reason for its refusal. */
export type MetaChange = { readonly meta: Meta } | { readonly refusal: string }

/** Applies a valid patch, unless the result exceeds a limit. */
export function changeMeta(meta: Meta, patch: MetaPatch): MetaChange {
  const changed = mergePatch(meta, patch) as Meta
  return jsonBytesOf(changed) > metaBytesMax
    ? { refusal: `the result must be at most ${metaBytesMax} bytes as JSON` }
    : { meta: changed }
}

/** RFC 7396 §2. Neither argument is changed; the result shares the parts that the patch did not touch. */
export function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch
  const merged = new Map<string, JsonValue>(isJsonObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, mergePatch(merged.get(key), value))
  }
  // Defines properties, never sets them: no key can change a prototype.
  return Object.fromEntries(merged)
}
