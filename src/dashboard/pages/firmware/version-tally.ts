import { isFinalStatus } from '#dashboard/pages/firmware/update-words'
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
  readonly updating: number
  /** By index, the most frequent version first. */
  readonly versions: readonly VersionCount[]
}

export const emptyTally: ProjectTally = { devices: 0, updating: 0, versions: [] }

/** The key for devices without a project; no project can have this name. */
export const withoutProject = ''

export function isUpdating({ firmwares = [] }: FirmwareInformation): boolean {
  return firmwares.some(({ update }) => update !== undefined && !isFinalStatus(update.status))
}

export function tallyOf(devices: Iterable<FirmwareInformation>): ReadonlyMap<string, ProjectTally> {
  const tallies = new Map<string, MutableTally>()
  for (const device of devices) {
    const project = device.project ?? withoutProject
    let tally = tallies.get(project)
    if (!tally) {
      tally = { devices: 0, updating: 0, counts: new Map() }
      tallies.set(project, tally)
    }
    tally.devices++
    if (isUpdating(device)) tally.updating++
    for (const { firmware, index } of device.firmwares ?? []) {
      const key = `${index}/${firmware}`
      const count = tally.counts.get(key)
      if (count) count.devices++
      else tally.counts.set(key, { firmware, index, devices: 1 })
    }
  }
  return new Map(
    [...tallies].map(([project, { counts, ...tally }]) => [project, { ...tally, versions: sorted(counts) }]),
  )
}

interface MutableTally {
  devices: number
  updating: number
  readonly counts: Map<string, { readonly firmware: string; readonly index: number; devices: number }>
}

function sorted(counts: MutableTally['counts']): readonly VersionCount[] {
  return [...counts.values()].sort((one, next) => one.index - next.index || next.devices - one.devices)
}
