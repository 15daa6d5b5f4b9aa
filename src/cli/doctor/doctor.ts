import type { ConfigReading } from '#app/config'
import { databaseFindings } from '#cli/doctor/database'
import type { Finding } from '#cli/doctor/finding'
import { diskFindings, folderFindings, imageFindings } from '#cli/doctor/folder'
import { clockFindings, syncFinding } from '#cli/doctor/moments'
import { mailFinding, updateServerFinding } from '#cli/doctor/outside'
import { portFindings } from '#cli/doctor/port'
import { nodeFinding, openFilesFinding } from '#cli/doctor/process'
import { settingsFindings, togetherFindings } from '#cli/doctor/settings'
import type { World } from '#runtime/world'

/** What is looked at, from where it comes in. */
export interface Patient {
  readonly reading: ConfigReading
  readonly nodeVersion: string
  /** The text of `/proc/self/limits`, where there is one. */
  readonly limits: string | undefined
  readonly apiKey: string | undefined
  readonly world: World
}

/**
 * Looks at everything that a server needs, in the order in which one thing needs another. Nothing is changed; a folder is
 * written to for a moment. What hangs on settings is left out where these are mistaken.
 */
export async function* examine({ reading, nodeVersion, limits, apiKey, world }: Patient): AsyncGenerator<Finding> {
  yield nodeFinding(nodeVersion)
  yield openFilesFinding(limits)
  yield* settingsFindings(reading)
  if ('mistakes' in reading) return
  const { config } = reading
  yield* togetherFindings(config)
  yield* await folderFindings(config)
  yield* await databaseFindings(config)
  yield* await imageFindings(config)
  yield* await diskFindings(config)
  yield await syncFinding(config, world)
  yield* await clockFindings(config, world)
  yield* await portFindings(config, apiKey)
  yield await mailFinding(config)
  yield await updateServerFinding(config)
}

/** How it ends, for whoever started it. */
export const doctorExitCodes = { well: 0, ill: 1 } as const
