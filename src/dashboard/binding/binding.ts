/** The devices of an alarm or function. Without both fields: all devices; with empty lists: none. Contract 5.3, 5.4. */
export interface Binding {
  readonly devices?: readonly string[] | undefined
  /** Ids without prefix. */
  readonly groups?: readonly string[] | undefined
}

export interface GroupOption {
  readonly resourceIdentifier: string
  readonly name: string
  readonly devices: readonly string[]
}

export function isAboutAll({ devices, groups }: Binding): boolean {
  return devices === undefined && groups === undefined
}

/** A short text for a table: `all devices`, `PUMP-7`, `3 devices, Hall 3`. */
export function bindingInWords(binding: Binding, groups: readonly GroupOption[]): string {
  if (isAboutAll(binding)) return 'all devices'
  const { devices = [], groups: ids = [] } = binding
  const [only, another] = devices
  const named = only === undefined ? [] : [another === undefined ? only : `${devices.length} devices`]
  const parts = [...named, ...ids.map((id) => nameOfGroup(id, groups))]
  return parts.length === 0 ? 'no device' : parts.join(', ')
}

/** The request body; omits undefined fields. */
export function bodyOfBinding({ devices, groups }: Binding): { devices?: string[]; groups?: string[] } {
  return { ...(devices && { devices: [...devices] }), ...(groups && { groups: [...groups] }) }
}

/** The id, for a group that the user may not see. */
export function nameOfGroup(id: string, groups: readonly GroupOption[]): string {
  return groups.find((group) => idOf(group.resourceIdentifier) === id)?.name ?? `group ${id}`
}

/** The id in a resource name: `5Kd9tVw3Cx` of `crn#group:5Kd9tVw3Cx`. Contract 1.7. */
export function idOf(resourceIdentifier: string): string {
  return resourceIdentifier.slice(resourceIdentifier.indexOf(':') + 1)
}
