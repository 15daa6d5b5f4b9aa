import { z } from 'zod'
import { BoundGroups } from '#model/group'
import { FirmwareVersion, Timestamp } from '#model/identifier'

/** How a firmware comes to part of a fleet by itself. Contract 6. */

/** A week: a window that stays open for longer is none. */
export const windowMinutesMax = 10_080

/** How often one device may be tried. */
export const attemptsMax = 100

/** How often one device is tried with one firmware by itself, where a rollout does not say, or there is none. */
export const defaultAttempts = 3

/** Lists of minutes are long. */
const cronCharactersMax = 256

/** Five fields, or six with seconds in front, single spaces between them. Whether such a time ever comes is asked elsewhere. */
export const CronPattern = z
  .string()
  .max(cronCharactersMax, { abort: true })
  .regex(/^[0-9a-z*,/?#-]+(?: [0-9a-z*,/?#-]+){4,5}$/i, 'must be a cron expression of 5 or 6 fields')

/**
 * A rollout as it is put. `percent` of the devices, chosen by their names; of those in `groups`, if there are any. It stops
 * by itself when at least `errorThresholdPercent` of those that finished failed. Devices are only begun with while the
 * window is open: from each time that `cron` names, in UTC, for so many minutes.
 */
export const RolloutBody = z.strictObject({
  firmware: FirmwareVersion,
  percent: z.number().min(0).max(100),
  groups: BoundGroups.optional(),
  errorThresholdPercent: z.number().min(0).max(100).optional(),
  window: z.strictObject({ cron: CronPattern, minutes: z.int().min(1).max(windowMinutesMax) }).optional(),
  maxAttempts: z.int().min(1).max(attemptsMax).optional(),
})
export type RolloutBody = Readonly<z.infer<typeof RolloutBody>>

/** `stopped`: by itself, for its errors. */
export const rolloutStates = ['running', 'paused', 'stopped'] as const
export type RolloutState = (typeof rolloutStates)[number]

/**
 * A rollout at rest. `updatedBy` is its author: it reaches only devices that he may still update; he and `createdBy` are
 * resource names. Times are Unix ms.
 */
export interface StoredRollout {
  /** Another one for another firmware: what devices count of an earlier one counts no more. */
  readonly id: string
  readonly body: RolloutBody
  readonly state: RolloutState
  /** What had finished, and failed, when it was last put or resumed: the threshold looks at what came after. */
  readonly countedFrom: { readonly finished: number; readonly failed: number }
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
}

const count = z.int().min(0)

/** How many devices stand where. `chosen`: as they were last gone through. */
export const RolloutCounts = z.object({ chosen: count, running: count, done: count, failed: count, refused: count })
export type RolloutCounts = Readonly<z.infer<typeof RolloutCounts>>

/** A rollout, as shown. */
export const RolloutEntry = z.object({
  ...RolloutBody.shape,
  state: z.enum(rolloutStates),
  counts: RolloutCounts,
  createdBy: z.string(),
  createdAt: Timestamp,
  updatedBy: z.string(),
  updatedAt: Timestamp,
})
export type RolloutEntry = Readonly<z.infer<typeof RolloutEntry>>

export function rolloutEntryOf(stored: StoredRollout, counts: RolloutCounts): RolloutEntry {
  const { body, state, createdBy, createdAt, updatedBy, updatedAt } = stored
  return { ...body, state, counts, createdBy, createdAt, updatedBy, updatedAt }
}
