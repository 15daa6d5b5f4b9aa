import { z } from 'zod'
import { type Authored, authorshipFields, authorshipOf } from '#model/authorship'
import { BoundGroups } from '#model/group'
import { FirmwareVersion } from '#model/identifier'

/** Rollouts update a part of a fleet automatically. Contract 6. */

/** A week, in minutes. */
export const windowMinutesMax = 10_080

/** Maximum number of attempts for one device. */
export const attemptsMax = 100

/** The automatic attempts for one device and firmware if there is no rollout, or it sets no number. */
export const defaultAttempts = 3

/** A list of minutes may be long. */
const cronCharactersMax = 256

/**
 * Five fields, or six with seconds in front, separated by single spaces. `routes/update-projects` checks whether the
 * expression matches any time.
 */
export const CronPattern = z
  .string()
  .max(cronCharactersMax, { abort: true })
  .regex(/^[0-9a-z*,/?#-]+(?: [0-9a-z*,/?#-]+){4,5}$/i, 'must be a cron expression of 5 or 6 fields')

/**
 * The body of a rollout. It includes `percent` of all devices, or of the devices in `groups`; a hash of the device's
 * name decides. The rollout stops when at least `errorThresholdPercent` of the finished devices failed. Updates only
 * begin while the window is open: for `minutes` from each time that `cron` gives in UTC.
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

/** `stopped`: the server stopped the rollout, because of failures. */
export const rolloutStates = ['running', 'paused', 'stopped'] as const
export type RolloutState = (typeof rolloutStates)[number]

/** A stored rollout. `updatedBy` is its author; the rollout only includes devices that the author may still update. */
export interface StoredRollout extends Authored {
  /** Another firmware gets another id, so attempts of an earlier rollout no longer count. */
  readonly id: string
  readonly body: RolloutBody
  readonly state: RolloutState
  /** The counts when the rollout was last saved or resumed. For the threshold, only later devices count. */
  readonly countedFrom: { readonly finished: number; readonly failed: number }
}

const count = z.int().min(0)

/** The number of devices in each state. `chosen`: the number of selected devices at the last scan. */
export const RolloutCounts = z.object({ chosen: count, running: count, done: count, failed: count, refused: count })
export type RolloutCounts = Readonly<z.infer<typeof RolloutCounts>>

/** A rollout as the API returns it. */
export const RolloutEntry = z.object({
  ...RolloutBody.shape,
  state: z.enum(rolloutStates),
  counts: RolloutCounts,
  ...authorshipFields,
})
export type RolloutEntry = Readonly<z.infer<typeof RolloutEntry>>

export function rolloutEntryOf(stored: StoredRollout, counts: RolloutCounts): RolloutEntry {
  const { body, state } = stored
  return { ...body, state, counts, ...authorshipOf(stored) }
}
