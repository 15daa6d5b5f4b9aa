import type { DeviceEntry } from '#bench/dashboard/folded-state'
import type { Grant } from '#model/scope'
import { mayRead } from '#test/simulation/reference-filter'

/** A plain reference implementation of contract 5.1 to 5.3: the active alarms, from a full read of everything. */

export interface ReadGroup {
  readonly resourceIdentifier: string
  readonly name: string
  readonly devices: readonly string[]
}

export interface ReadAlarm {
  readonly resourceIdentifier: string
  readonly name: string
  readonly serviceIdentifier: string
  readonly condition: unknown
  readonly devices?: readonly string[]
  readonly groups?: readonly string[]
  readonly updatedBy: string
}

/** `GET /alarms/status`. */
export interface ReadRow {
  readonly resourceIdentifier: string
  readonly deviceIdentifier: string
  readonly active: boolean
  readonly since: number
  readonly acknowledged: { readonly by: string; readonly at: number; readonly comment: string | null } | null
}

export interface ReadAll {
  readonly entries: readonly DeviceEntry[]
  readonly alarms: readonly ReadAlarm[]
  readonly groups: readonly ReadGroup[]
  readonly rows: readonly ReadRow[]
  /** Property names, by service and propId. */
  readonly names: Readonly<Record<string, Readonly<Record<number, string>>>>
  /** The present permissions of an author. */
  readonly grantsOf: (author: string) => readonly Grant[]
}

type Properties = Readonly<Record<string, { tag?: string; type: string; value?: unknown }>>

export function alarmFaults({ entries, alarms, groups, rows, names, grantsOf }: ReadAll): readonly string[] {
  const faults: string[] = []
  const standing = new Map(rows.map((row) => [`${row.resourceIdentifier} on ${row.deviceIdentifier}`, row.active]))
  for (const alarm of alarms) {
    const { serviceIdentifier: service, condition } = alarm
    for (const { deviceIdentifier: device, services } of entries) {
      const pair = `${alarm.resourceIdentifier} on ${device}`
      const isActive = standing.get(pair)
      standing.delete(pair)
      const offered = services?.find(({ serviceIdentifier }) => serviceIdentifier === service)
      const counts = isBound(alarm, groups, device) && mayRead(grantsOf(alarm.updatedBy), 'service', device, service)
      const holds = offered && counts && verdictOf(condition, (offered.properties ?? {}) as Properties, names[service])
      if ((!offered || !counts) && isActive !== undefined)
        faults.push(`${pair} has a state, and is not evaluated there`)
      if (typeof holds === 'boolean' && offered && counts && holds !== (isActive ?? false))
        faults.push(`${pair} is ${isActive ? '' : 'in'}active: ${JSON.stringify({ alarm, offered })}`)
    }
  }
  for (const pair of standing.keys()) faults.push(`${pair} has a state, and one of these is gone`)
  return faults
}

function isBound({ devices, groups }: ReadAlarm, all: readonly ReadGroup[], device: string): boolean {
  if (!devices && !groups) return true
  const ids = new Set((groups ?? []).map((group) => `crn#group:${group}`))
  const members = all.filter(({ resourceIdentifier }) => ids.has(resourceIdentifier)).flatMap((group) => group.devices)
  return [...(devices ?? []), ...members].includes(device)
}

/** Undefined: a property in the condition has no value, so the alarm keeps its state. */
function verdictOf(condition: unknown, properties: Properties, names: Readonly<Record<number, string>> = {}) {
  let isKnown = true
  const truth = evaluate(condition)
  return isKnown ? Boolean(truth) : undefined

  function evaluate(node: unknown): unknown {
    if (typeof node !== 'object' || node === null) return node
    const [[operator, operand] = ['', []]] = Object.entries(node)
    const given = Array.isArray(operand) ? operand : [operand]
    if (operator === 'var') return read(given)
    const [left, right] = given.map(evaluate) as [number, number]
    if (operator === '>') return left > right
    if (operator === '>=') return left >= right
    if (operator === '<') return left < right
    if (operator === '==') return left === right
    if (operator === '%') return left % right
    if (operator === '!') return !left
    return operator === 'and' ? left && right : left || right
  }

  function read([name, fallback]: readonly unknown[]): unknown {
    const [, id, type] = /^0x([0-9a-f]+)(?:\.(\w+))?$/.exec(String(name)) ?? []
    const named = Object.keys(names).find((propId) => names[Number(propId)] === name)
    const property = properties[id === undefined ? (named ?? '') : String(Number.parseInt(id, 16))]
    const isThere = property?.tag !== 'error' && property?.value !== undefined && (!type || type === property.type)
    if (!isThere && fallback === undefined) isKnown = false
    return isThere ? property.value : fallback
  }
}
