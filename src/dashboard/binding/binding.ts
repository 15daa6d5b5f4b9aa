import type { Item } from '#client/routes'
import type { ServiceSchema } from '#model/service-schema'

/**
 * The devices of an alarm or function. Without both fields: all devices; with empty lists: no device. Contract 5.3,
 * 5.4.
 */
export interface Binding {
  readonly devices?: readonly string[] | undefined
  /** Ids without prefix. */
  readonly groups?: readonly string[] | undefined
}

export type GroupOption = Pick<Item<'GET /groups'>, 'resourceIdentifier' | 'name' | 'devices'>

/** The names of services, properties and alarms, by which the pages describe functions. */
export interface Names {
  readonly schemas: ReadonlyMap<string, ServiceSchema>
  /** By id. */
  readonly alarms: ReadonlyMap<string, string>
}

export function coversAllDevices({ devices, groups }: Binding): boolean {
  return devices === undefined && groups === undefined
}

/** A short text for a table: `all devices`, `PUMP-7`, `3 devices, Hall 3`. */
export function bindingInWords(binding: Binding, groups: readonly GroupOption[]): string {
  if (coversAllDevices(binding)) return 'all devices'
  const { devices = [], groups: ids = [] } = binding
  const [only, another] = devices
  const named = only === undefined ? [] : [another === undefined ? only : `${devices.length} devices`]
  const parts = [...named, ...ids.map((id) => nameOfGroup(id, groups))]
  return parts.length === 0 ? 'no device' : parts.join(', ')
}

/** The fields of a request body; omits undefined fields. */
export function bodyOfBinding({ devices, groups }: Binding): { devices?: string[]; groups?: string[] } {
  return { ...(devices && { devices: [...devices] }), ...(groups && { groups: [...groups] }) }
}

/** Undefined for a group that the user may not see. */
export function groupOf<Group extends GroupOption>(id: string, groups: readonly Group[]): Group | undefined {
  return groups.find(({ resourceIdentifier }) => idOf(resourceIdentifier) === id)
}

/** The id, for a group that the user may not see. */
export function nameOfGroup(id: string, groups: readonly GroupOption[]): string {
  return groupOf(id, groups)?.name ?? `group ${id}`
}

/** The id in a resource name: `5Kd9tVw3Cx` of `crn#group:5Kd9tVw3Cx`. Contract 1.7. */
export function idOf(resourceIdentifier: string): string {
  return resourceIdentifier.slice(resourceIdentifier.indexOf(':') + 1)
}

/**
 * Parses typed or pasted device identifiers: in upper case, each once. Separators are commas, line ends, tabs and
 * spaces, unless a space is the second character of an identifier. §2.1, contract 1.8.
 */
export function devicesIn(text: string): readonly string[] {
  const pieces = text
    .split(/[,\n\r\t]+/)
    .map((piece) => piece.trim())
    .flatMap((piece) => (/^\S \S+$/.test(piece) ? [piece] : piece.split(/ +/)))
  return [...new Set(pieces.filter((piece) => piece !== '').map((piece) => piece.toUpperCase()))]
}
