import type { ConfigReading } from '#app/config'
import { databaseFindings, historyFindings } from '#cli/doctor/database'
import { mailFinding, updateServerFinding } from '#cli/doctor/external-servers'
import type { Finding } from '#cli/doctor/finding'
import { diskFindings, folderFindings, imageFindings } from '#cli/doctor/folder'
import { natsFindings } from '#cli/doctor/nats'
import { portFindings } from '#cli/doctor/port'
import { nodeFinding, openFilesFinding } from '#cli/doctor/process'
import { combinationFindings, settingsFindings } from '#cli/doctor/settings'
import { clockFindings, syncFinding } from '#cli/doctor/timing'
import type { World } from '#runtime/world'

/** The input of the checks. */
export interface DoctorInput {
  readonly reading: ConfigReading
  readonly nodeVersion: string
  /** The text of `/proc/self/limits`, if the system has it. */
  readonly limits: string | undefined
  readonly apiKey: string | undefined
  readonly world: World
}

/**
 * Checks all that a server needs, in the order of dependencies. Changes nothing, except for a temporary file in the
 * data folder, or above it if there is no data folder yet. If settings are invalid, the checks that depend on them are
 * skipped.
 */
export async function* examine({ reading, nodeVersion, limits, apiKey, world }: DoctorInput): AsyncGenerator<Finding> {
  yield nodeFinding(nodeVersion)
  yield openFilesFinding(limits)
  yield* settingsFindings(reading)
  if ('mistakes' in reading) return
  const { config } = reading
  yield* combinationFindings(config)
  yield* await folderFindings(config)
  yield* await databaseFindings(config)
  yield* await historyFindings(config)
  yield* await imageFindings(config)
  yield* await diskFindings(config)
  yield await syncFinding(config, world)
  yield* await clockFindings(config, world)
  yield* await natsFindings(config)
  yield* await portFindings(config, apiKey)
  yield await mailFinding(config)
  yield await updateServerFinding(config)
}

/** The exit codes of doctor. */
export const doctorExitCodes = { ok: 0, problems: 1 } as const
