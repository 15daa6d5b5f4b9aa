import { createHash } from 'node:crypto'

/** A plain reference implementation of contract 6: the firmware a device should have. */

export interface ReadRelease {
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
  readonly sha256: string
  readonly size: number
}

/** `GET /updates` with all details. */
export interface ReadUpdates {
  readonly deviceIdentifier: string
  readonly project: string | null
  readonly firmwares: readonly {
    readonly firmware: string
    readonly hardware?: string
    readonly index: number
    readonly updateAvailable: boolean
    readonly update?: Readonly<Record<string, unknown>>
  }[]
}

export interface ReadRollout {
  readonly firmware: string
  readonly percent: number
  readonly groups?: readonly string[]
  readonly maxAttempts?: number
  readonly errorThresholdPercent?: number
  readonly state: 'running' | 'paused' | 'stopped'
  readonly counts: Readonly<Record<string, number>>
  readonly updatedBy: string
  readonly updatedAt: number
}

export interface ProjectData {
  readonly project: string
  readonly releases: readonly ReadRelease[]
  readonly pins: ReadonlyMap<string, string>
  readonly rollout: ReadRollout | undefined
  readonly groups: ReadonlyMap<string, readonly string[]>
  /** Whether a user may update a device. */
  readonly mayUpdate: (author: string, device: string) => boolean
}

export interface InstalledFirmware {
  readonly device: string
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
}

/** The firmware to install automatically; undefined: no change. */
export function expectedFirmware(data: ProjectData, installed: InstalledFirmware): string | undefined {
  const { rollout } = data
  const isMeant = !rollout || (rollout.state === 'running' && isSelected(data, rollout, installed.device))
  return selectFirmware(data, installed, (newer) => {
    const offered = rollout ? newer.filter((firmware) => firmware === rollout.firmware) : newer
    return isMeant ? offered : []
  })
}

/** The firmware for an update requested by a user. */
export function expectedOnRequest(data: ProjectData, installed: InstalledFirmware): string | undefined {
  return selectFirmware(data, installed, (newer) => newer)
}

/** `left`: the newer releases that qualify. */
function selectFirmware(
  { releases, pins }: ProjectData,
  { device, firmware, hardware, index }: InstalledFirmware,
  left: (newer: readonly string[]) => readonly string[],
): string | undefined {
  const fitting = releases
    .filter((release) => release.index === index)
    .filter((release) => release.hardware === undefined || release.hardware === hardware)
    .map((release) => release.firmware)
  const pin = pins.get(device)
  const ofPin = releases.filter((release) => release.firmware === pin)
  const isHeld = pin !== undefined && (ofPin.length === 0 || ofPin.some((release) => release.index === index))
  if (isHeld) return fitting.includes(pin) && pin !== firmware ? pin : undefined
  return [...left(fitting.filter((each) => isAbove(each, firmware)))].sort(byNumber).at(-1)
}

/** Whether a rollout is for this device: in its share and groups, and one that the rollout's author may update. */
export function isSelected(
  data: ProjectData,
  { firmware, percent, groups, updatedBy }: ReadRollout,
  device: string,
): boolean {
  const isMember = !groups || groups.some((group) => data.groups.get(group)?.includes(device))
  const hash = createHash('sha256').update(`${data.project}/${firmware}/${device}`).digest('hex')
  const isInShare = Number.parseInt(hash.slice(0, 8), 16) * 100 < percent * 0x1_0000_0000
  return isMember && isInShare && data.mayUpdate(updatedBy, device)
}

/** With fewer devices the error rate is not significant. */
const sampleDevices = 20

/** Whether the rollout must have stopped. `finished`: results of devices since the rollout was last set or resumed. */
export function hasTooManyErrors(
  { errorThresholdPercent, counts }: ReadRollout,
  finished: readonly ('done' | 'failed' | 'refused')[],
): boolean {
  if (errorThresholdPercent === undefined) return false
  const failed = finished.filter((end) => end !== 'done').length
  const of = Math.max(finished.length, Math.min(sampleDevices, counts.chosen ?? sampleDevices))
  return failed > 0 && failed * 100 >= errorThresholdPercent * of
}

/** Compares versions like `1.7.0`, which differ in the second number only. */
export function isAbove(firmware: string, than: string): boolean {
  return byNumber(firmware, than) > 0
}

function byNumber(one: string, next: string): number {
  return numberOf(one) - numberOf(next)
}

function numberOf(firmware: string): number {
  return Number(firmware.split('.')[1])
}
