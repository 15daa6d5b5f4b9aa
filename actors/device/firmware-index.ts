import type { DeviceState } from '#actors/device/state'
import type { IndexChange } from '#runtime/actor'

/** Devices with a known project or firmware: entries `<deviceIdentifier>`. */
export const firmwareIndex = 'firmware'

/** Devices by their reported project: entries `<project>/<deviceIdentifier>`. */
export const projectDeviceIndex = 'project_device'

/** The project and the firmwares that a device reported. */
export type FirmwareKnown = Pick<DeviceState, 'project' | 'firmwares'>

/** Whether the device has a project or a firmware to show. */
export function isFirmwareKnown({ project, firmwares }: FirmwareKnown): boolean {
  return project !== null || firmwares.length > 0
}

/** The index rows to add and to remove. */
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
