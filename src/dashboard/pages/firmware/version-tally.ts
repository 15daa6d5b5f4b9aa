import type { FirmwareInformation } from '#model/firmware'

/** How many devices of each project have which firmware, and where their updates stand. */

/** Devices that have one version; `index` tells apart the firmwares of one device. */
interface VersionCount {
  readonly firmware: string
  readonly index: number
  readonly devices: number
}

export interface ProjectTally {
  readonly devices: number
  /** Of these, the ones for which there is something newer. */
  readonly outdated: number
  /** Of these, the ones that are being updated right now. */
  readonly underWay: number
  /** By index, the version of most devices first. */
  readonly versions: readonly VersionCount[]
}

export const nothingTallied: ProjectTally = { devices: 0, outdated: 0, underWay: 0, versions: [] }

/** Devices that say no project stand under this name, which no project can have. */
export const withoutProject = ''

/** Where an update moves by itself; the others are its ends, or none. */
const moving: ReadonlySet<string> = new Set([
  'CHECKING',
  'OFFERING',
  'STARTED',
  'DOWNLOADING',
  'VERIFYING',
  'INSTALLING',
  'REBOOTING',
])

export function isUnderWay({ firmwares = [] }: FirmwareInformation): boolean {
  return firmwares.some(({ update }) => update !== undefined && moving.has(update.status))
}

function isOutdated({ firmwares = [] }: FirmwareInformation): boolean {
  return firmwares.some(({ updateAvailable }) => updateAvailable)
}

/** By project. */
export function tallyOf(devices: Iterable<FirmwareInformation>): ReadonlyMap<string, ProjectTally> {
  const growing = new Map<string, Growing>()
  for (const device of devices) {
    const project = device.project ?? withoutProject
    let tally = growing.get(project)
    if (!tally) {
      tally = { devices: 0, outdated: 0, underWay: 0, counts: new Map() }
      growing.set(project, tally)
    }
    tally.devices++
    if (isOutdated(device)) tally.outdated++
    if (isUnderWay(device)) tally.underWay++
    for (const { firmware, index } of device.firmwares ?? []) {
      const key = `${index}/${firmware}`
      const count = tally.counts.get(key)
      if (count) count.devices++
      else tally.counts.set(key, { firmware, index, devices: 1 })
    }
  }
  return new Map(
    [...growing].map(([project, { counts, ...tally }]) => [project, { ...tally, versions: sorted(counts) }]),
  )
}

interface Growing {
  devices: number
  outdated: number
  underWay: number
  readonly counts: Map<string, { readonly firmware: string; readonly index: number; devices: number }>
}

function sorted(counts: Growing['counts']): readonly VersionCount[] {
  return [...counts.values()].sort((one, next) => one.index - next.index || next.devices - one.devices)
}
