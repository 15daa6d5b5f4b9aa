import { readPreference, storePreference } from '#dashboard/preferences'

/** The chosen columns, stored in this browser: by service, because each has its own properties. */

const key = 'fleet-columns'

export function storedColumns(service: string): readonly string[] | undefined {
  const kept = read()[service]
  return Array.isArray(kept) && kept.every((each) => typeof each === 'string') ? kept : undefined
}

/** Undefined: the default columns. */
export function storeColumns(service: string, keys: readonly string[] | undefined): void {
  const { [service]: _, ...others } = read()
  storePreference(key, JSON.stringify(keys ? { ...others, [service]: keys } : others))
}

function read(): Record<string, unknown> {
  try {
    const kept: unknown = JSON.parse(readPreference(key) ?? '{}')
    return typeof kept === 'object' && kept !== null ? (kept as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
