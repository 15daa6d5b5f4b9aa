import { keep, readKept } from '#dashboard/kept'

/** The chosen columns, stored in this browser: by service, because each has its own properties. */

const key = 'fleet-columns'

export function keptColumns(service: string): readonly string[] | undefined {
  const kept = read()[service]
  return Array.isArray(kept) && kept.every((each) => typeof each === 'string') ? kept : undefined
}

/** Undefined: the default columns. */
export function keepColumns(service: string, keys: readonly string[] | undefined): void {
  const { [service]: _, ...others } = read()
  keep(key, JSON.stringify(keys ? { ...others, [service]: keys } : others))
}

function read(): Record<string, unknown> {
  try {
    const kept: unknown = JSON.parse(readKept(key) ?? '{}')
    return typeof kept === 'object' && kept !== null ? (kept as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
