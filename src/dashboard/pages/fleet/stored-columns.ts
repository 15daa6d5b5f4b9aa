import { readPreference, storePreference } from '#dashboard/preferences'

/** The chosen columns, stored in this browser: by service, because each has its own properties. */

const key = 'fleet-columns'

export function storedColumns(service: string): readonly string[] | undefined {
  const stored = read()[service]
  return Array.isArray(stored) && stored.every((each) => typeof each === 'string') ? stored : undefined
}

/** Undefined: the default columns. */
export function storeColumns(service: string, keys: readonly string[] | undefined): void {
  const { [service]: _, ...others } = read()
  storePreference(key, JSON.stringify(keys ? { ...others, [service]: keys } : others))
}

function read(): Record<string, unknown> {
  try {
    const stored: unknown = JSON.parse(readPreference(key) ?? '{}')
    return typeof stored === 'object' && stored !== null ? (stored as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
