/** The merge patch that turns one JSON object into another. RFC 7396; a patch cannot set `null`. */

type Json = Readonly<Record<string, unknown>>

export function mergePatchOf(before: Json, after: Json): Json | undefined {
  const patch = new Map<string, unknown>()
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch.set(key, null)
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (isObject(old) && isObject(value)) {
      const inner = mergePatchOf(old, value)
      if (inner) patch.set(key, inner)
    } else if (JSON.stringify(old) !== JSON.stringify(value)) patch.set(key, value)
  }
  return patch.size === 0 ? undefined : Object.fromEntries(patch)
}

/** Whether the value contains `null` outside of lists: a patch would remove that key. */
export function containsNull(value: unknown): boolean {
  if (value === null) return true
  return isObject(value) && Object.values(value).some(containsNull)
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
