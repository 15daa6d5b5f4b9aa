import { createHash } from 'node:crypto'

/** Contract 6 once more, written as plainly as can be: which firmware a device is to have. */

export interface ReadRelease {
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
  readonly sha256: string
  readonly size: number
}

/** `GET /updates` with all that there is. */
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

/** What there is for a project. */
export interface Stand {
  readonly project: string
  readonly releases: readonly ReadRelease[]
  readonly pins: ReadonlyMap<string, string>
  readonly rollout: ReadRollout | undefined
  readonly groups: ReadonlyMap<string, readonly string[]>
  /** Whether somebody may update a device. */
  readonly mayUpdate: (author: string, device: string) => boolean
}

/** One firmware of a device, as it has it. */
export interface Had {
  readonly device: string
  readonly firmware: string
  readonly hardware?: string
  readonly index: number
}

/** What it is to have instead, by itself; undefined: it stays. */
export function wanted(stand: Stand, had: Had): string | undefined {
  const { rollout } = stand
  const isMeant = !rollout || (rollout.state === 'running' && isSelected(stand, rollout, had.device))
  return chosen(stand, had, (newer) => {
    const offered = rollout ? newer.filter((firmware) => firmware === rollout.firmware) : newer
    return isMeant ? offered : []
  })
}

/** What somebody who asks for an update gets it. */
export function wantedByHand(stand: Stand, had: Had): string | undefined {
  return chosen(stand, had, (newer) => newer)
}

/** `left`: what of all that is newer comes into question. */
function chosen(
  { releases, pins }: Stand,
  { device, firmware, hardware, index }: Had,
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

/** A share of all, or of the members of its groups; and only whom its author may update. */
export function isSelected(
  stand: Stand,
  { firmware, percent, groups, updatedBy }: ReadRollout,
  device: string,
): boolean {
  const isMember = !groups || groups.some((group) => stand.groups.get(group)?.includes(device))
  const hash = createHash('sha256').update(`${stand.project}/${firmware}/${device}`).digest('hex')
  const isInShare = Number.parseInt(hash.slice(0, 8), 16) * 100 < percent * 0x1_0000_0000
  return isMember && isInShare && stand.mayUpdate(updatedBy, device)
}

/** With fewer devices than these errors say little. */
const sampleDevices = 20

/** Whether it must have stopped by itself. `finished`: how devices ended that did since it was last put or resumed. */
export function hasTooManyErrors(
  { errorThresholdPercent, counts }: ReadRollout,
  finished: readonly ('done' | 'failed' | 'refused')[],
): boolean {
  if (errorThresholdPercent === undefined) return false
  const failed = finished.filter((end) => end !== 'done').length
  const of = Math.max(finished.length, Math.min(sampleDevices, counts.chosen ?? sampleDevices))
  return failed > 0 && failed * 100 >= errorThresholdPercent * of
}

/** Of versions like `1.7.0`. */
export function isAbove(firmware: string, than: string): boolean {
  return byNumber(firmware, than) > 0
}

function byNumber(one: string, next: string): number {
  return numberOf(one) - numberOf(next)
}

function numberOf(firmware: string): number {
  return Number(firmware.split('.')[1])
}
