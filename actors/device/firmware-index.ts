import type { DeviceState } from '#actors/device/state'
import type { IndexChange } from '#runtime/actor'

/** Devices of which a project or a firmware is known: entries `<deviceIdentifier>`. */
export const firmwareIndex = 'firmware'

/** Which devices say that they are of a project: entries `<project>/<deviceIdentifier>`. */
export const projectDeviceIndex = 'project_device'

/** What a device said of itself, as far as updates need it. */
export type FirmwareKnown = Pick<DeviceState, 'project' | 'firmwares'>

/** Whether there is anything to show of it. */
export function isFirmwareKnown({ project, firmwares }: FirmwareKnown): boolean {
  return project !== null || firmwares.length > 0
}

/** Where it is found from now on, and no more. */
export function firmwareRows(device: string, before: FirmwareKnown, after: FirmwareKnown): readonly IndexChange[] {
  const rows: IndexChange[] = []
  const isKnown = isFirmwareKnown(after)
  if (isKnown !== isFirmwareKnown(before)) rows.push({ index: firmwareIndex, entry: device, isPresent: isKnown })
  if (before.project === after.project) return rows
  if (before.project !== null) rows.push(projectRow(before.project, device, false))
  if (after.project !== null) rows.push(projectRow(after.project, device, true))
  return rows
}

function projectRow(project: string, device: string, isPresent: boolean): IndexChange {
  return { index: projectDeviceIndex, entry: `${project}/${device}`, isPresent }
}
