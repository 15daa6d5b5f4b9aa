import type { FirmwareInformation } from '#model/firmware'

/** Counts devices by project and firmware version, with the status of their updates. */

/** Devices with one version; `index` distinguishes the firmwares of a device. */
interface VersionCount {
  readonly firmware: string
  readonly index: number
  readonly devices: number
}

export interface ProjectTally {
  readonly devices: number
  /** The devices of these with an available update. */
  readonly outdated: number
  /** The devices of these that are being updated. */
  readonly underWay: number
  /** By index, the most frequent version first. */
  readonly versions: readonly VersionCount[]
}

export const nothingTallied: ProjectTally = { devices: 0, outdated: 0, underWay: 0, versions: [] }

/** The key for devices without a project; no project can have this name. */
export const withoutProject = ''

/** The statuses of a running update; the others are final, or none. */
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
