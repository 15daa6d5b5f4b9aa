import { ServiceState } from '#actors/device/service-state'
import { OrderedNames } from '#actors/directory/ordered-names'

/** An object that is reachable from a state. `parts` has its keys and values in turn. */
interface Held {
  readonly path: string
  readonly holder: object
  readonly parts: readonly unknown[]
}

/**
 * Remembers the whole state to find changes in place. It also walks objects that many actors share, such as alarms,
 * because they must not change either. Returns a function that returns the path of the first change, such as
 * `.services.0`, or undefined.
 */
export function watchState(state: unknown): () => string | undefined {
  const all: Held[] = []
  const known = new Set<object>()
  const walk = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null || known.has(value)) return
    known.add(value)
    const parts = partsOf(value)
    all.push({ path, holder: value, parts })
    for (let at = 0; at < parts.length; at += 2) walk(parts[at + 1], `${path}.${String(parts[at])}`)
  }
  walk(state, '')
  return () => {
    for (const { path, holder, parts } of all) {
      const now = partsOf(holder)
      const at = parts.findIndex((part, place) => !Object.is(part, now[place]))
      if (at >= 0 || now.length > parts.length) {
        const key = at >= 0 ? parts[at - (at % 2)] : now[parts.length]
        return `${path}.${String(key)}`
      }
    }
    return undefined
  }
}

function partsOf(holder: object): unknown[] {
  if (holder instanceof Map) return [...[...holder].flat(), ...Object.entries(holder).flat()]
  if (holder instanceof Uint8Array) return ['bytes', Buffer.from(holder).toString('latin1')]
  if (holder instanceof Set) return [...holder].flatMap((member) => [member, member])
  if (holder instanceof OrderedNames) return holder.after('', holder.size).flatMap((name) => [name, name])
  if (holder instanceof ServiceState) {
    const parts = [...holder.states(), ...holder.times(), ...holder.offsets()]
    return ['shape', holder.shape, ...parts.flatMap((part, at) => [at, part])]
  }
  return Object.entries(holder).flat()
}
