import type { Answer } from '#client/client'
import { groupBy } from '#dashboard/values/group-by'
import type { FirmwareEntry, FirmwareInformation, TriggerStatus } from '#model/firmware'
import type { RolloutCounts } from '#model/rollout'

/** Updates of devices in words, and counted. §3.2, contract 6. */

type Outcome = Answer<'POST /updates/:deviceIdentifier'>

const outcomes: Readonly<Record<TriggerStatus, string>> = {
  STARTED: 'the update has started',
  NO_UPDATE: 'no newer version is available',
  DEVICE_OFFLINE: 'the device is offline or did not answer: try again when it is online',
  DEVICE_NOT_OK: 'the device refused the update',
  UPDATE_SERVER_OUT_OF_RESOURCES: 'the update server is overloaded: try again later',
  UPDATE_SERVER_ERROR: 'the update server failed',
  SERVER_ERROR: 'the server failed: see its log',
}

/** Whether the update has started, or there is no newer version. */
export function isSuccess({ status }: Outcome): boolean {
  return status === 'STARTED' || status === 'NO_UPDATE'
}

export function outcomeText(device: string, { status, message }: Outcome): string {
  return `${device}: ${outcomes[status]}${message === undefined ? '' : ` (${message})`}.`
}

/** The message of an update: a result in words, or a text of the device. */
export function messageText(message: string): string {
  return (outcomes as Readonly<Record<string, string>>)[message] ?? message
}

/** `downloading 1.5.0, 42 %`; undefined if there never was an update, or a check found no newer version. */
export function updateText({ update }: FirmwareEntry): string | undefined {
  if (!update || update.status === 'IDLE') return undefined
  const { status, firmware, progress } = update
  const to = firmware === undefined ? '' : ` ${firmware}`
  const progressText = progress === undefined || isFinalStatus(status) ? '' : `, ${Math.round(progress)} %`
  return `${status.toLowerCase()}${to}${progressText}`
}

export function isFinalStatus(status: string): boolean {
  return ['IDLE', 'DONE', 'FAILED', 'REFUSED'].includes(status)
}

/** `waiting`: chosen devices that have not started, and chosen devices that already have the version. Contract 6. */
export function rolloutParts({ chosen, running, done, failed, refused }: RolloutCounts) {
  const waiting = Math.max(0, chosen - running - done - failed - refused)
  return [
    { name: 'done', tone: 'good', count: done },
    { name: 'being updated', tone: 'busy', count: running },
    { name: 'failed', tone: 'bad', count: failed },
    { name: 'refused', tone: 'warning', count: refused },
    { name: 'waiting, or already updated', tone: 'quiet', count: waiting },
  ] as const
}

export interface ProjectTally {
  readonly devices: number
  readonly updating: number
  /** By index, the most frequent version first. */
  readonly versions: ReturnType<typeof versionsOn>
}

export const emptyTally: ProjectTally = { devices: 0, updating: 0, versions: [] }

/** The key for devices without a project; no project can have this name. */
export const withoutProject = ''

export function isUpdating({ firmwares = [] }: FirmwareInformation): boolean {
  return firmwares.some(({ update }) => update !== undefined && !isFinalStatus(update.status))
}

/** Counts devices by project and firmware version, with the status of their updates. */
export function tallyOf(devices: Iterable<FirmwareInformation>): ReadonlyMap<string, ProjectTally> {
  const projects = groupBy(devices, ({ project }) => project ?? withoutProject)
  return new Map(
    [...projects].map(([project, members]) => [
      project,
      { devices: members.length, updating: members.filter(isUpdating).length, versions: versionsOn(members) },
    ]),
  )
}

/** The number of devices with each version; `index` distinguishes the firmwares of a device. */
function versionsOn(devices: readonly FirmwareInformation[]) {
  const entries = devices.flatMap(({ firmwares = [] }) => firmwares)
  return [...groupBy(entries, ({ index, firmware }) => `${index}/${firmware}`).values()]
    .map((same) => {
      const [{ firmware, index }] = same as [FirmwareEntry]
      return { firmware, index, devices: same.length }
    })
    .sort((one, next) => one.index - next.index || next.devices - one.devices)
}
