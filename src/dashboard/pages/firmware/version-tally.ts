import { isFinalStatus } from '#dashboard/pages/firmware/update-words'
import { groupBy } from '#dashboard/values/group-by'
import type { FirmwareEntry, FirmwareInformation } from '#model/firmware'

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
  const projects = groupBy(devices, ({ project }) => project ?? withoutProject)
  return new Map(
    [...projects].map(([project, members]) => [
      project,
      { devices: members.length, updating: members.filter(isUpdating).length, versions: versionsOn(members) },
    ]),
  )
}

function versionsOn(devices: readonly FirmwareInformation[]): readonly VersionCount[] {
  const entries = devices.flatMap(({ firmwares = [] }) => firmwares)
  return [...groupBy(entries, ({ index, firmware }) => `${index}/${firmware}`).values()]
    .map((same) => {
      const [{ firmware, index }] = same as [FirmwareEntry]
      return { firmware, index, devices: same.length }
    })
    .sort((one, next) => one.index - next.index || next.devices - one.devices)
}
