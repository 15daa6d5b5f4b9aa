import { deviceIdentifierOf } from '#model/identifier'
import { getOrInsert } from '#model/map-values'

/** The devices that grants name. Contract 2, Model; contract 12. */

export type Names = ReadonlySet<string> | DeviceNames | '*'

/** A group at one moment. */
export interface GroupMembers {
  readonly id: string
  /** A random number that differs after every change of the group. */
  readonly edit: number
  readonly members: ReadonlySet<string>
}

/** Devices by name, by prefix and by group. */
export class DeviceNames {
  readonly names: ReadonlySet<string>
  /** The prefixes, without the star. */
  readonly prefixes: readonly string[]
  readonly groups: readonly GroupMembers[]

  constructor(names: ReadonlySet<string>, prefixes: readonly string[], groups: readonly GroupMembers[]) {
    this.names = names
    this.prefixes = prefixes
    this.groups = groups
  }

  has(device: string): boolean {
    return (
      this.names.has(device) ||
      this.prefixes.some((prefix) => device.startsWith(prefix)) ||
      this.groups.some(({ members }) => members.has(device))
    )
  }
}

/** Finds a group by its id; undefined if there is none. */
export type GroupOf = (group: string) => GroupMembers | undefined

export function includesName(names: Names, name: string): boolean {
  return names === '*' || names.has(name)
}

/** Devices by name, those of groups included, and prefixes of devices. */
export interface DeviceUnion {
  readonly names: ReadonlySet<string>
  readonly prefixes: readonly string[]
}

/**
 * Caches the names of several reaches in one set: otherwise a hundred grants would be checked for each device of a long
 * list.
 */
const unions = new WeakMap<readonly { readonly devices: Names }[], DeviceUnion>()

/** The devices of all reaches together; reaches with `*` are left out. */
export function unionOf(reaches: readonly { readonly devices: Names }[]): DeviceUnion {
  return getOrInsert(unions, reaches, () => {
    const names = new Set<string>()
    const prefixes = new Set<string>()
    for (const { devices } of reaches) {
      if (devices === '*') continue
      const isUnion = devices instanceof DeviceNames
      for (const name of isUnion ? devices.names : devices) names.add(name)
      if (!isUnion) continue
      for (const prefix of devices.prefixes) prefixes.add(prefix)
      for (const { members } of devices.groups) for (const name of members) names.add(name)
    }
    return { names, prefixes: [...prefixes] }
  })
}

/** Caches the set of each list: after each edit of a group, grants are read again, and each may name 10 000 devices. */
const setsOfNames = new WeakMap<readonly string[], ReadonlySet<string> | '*'>()

/** The names without the prefixes, or `*`. */
export function namesOf(names: readonly string[]): ReadonlySet<string> | '*' {
  return getOrInsert(setsOfNames, names, () =>
    names.includes('*') ? '*' : new Set(names.filter((name) => !name.endsWith('*'))),
  )
}

/** The prefixes in a list of devices, without the star. */
export function prefixesIn(devices: readonly string[]): readonly string[] {
  return devices.filter((name) => name.length > 1 && name.endsWith('*')).map((name) => name.slice(0, -1))
}

/**
 * The normal form of a device identifier, or of the beginning of an identifier with a star; undefined for any other
 * text.
 */
export function deviceOrPrefixOf(text: string): string | undefined {
  if (!text.endsWith('*')) return deviceIdentifierOf(text)
  const prefix = text.slice(0, -1)
  const example = deviceIdentifierOf(`${prefix}A`) ?? deviceIdentifierOf(`${prefix}AA`)
  return prefix === '' ? undefined : example && `${example.slice(0, prefix.length)}*`
}
