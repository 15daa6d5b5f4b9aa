import { keep, readKept } from '#dashboard/kept'

/** Which columns somebody chose, in this browser: by service, since each has properties of its own. */

const key = 'fleet-columns'

export function keptColumns(service: string): readonly string[] | undefined {
  const kept = read()[service]
  return Array.isArray(kept) && kept.every((each) => typeof each === 'string') ? kept : undefined
}

/** Undefined: those that are usual. */
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
