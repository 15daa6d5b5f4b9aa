import type { LinksOptions } from '#link/options'
import type { Log } from '#runtime/log'
import { StorageFailure } from '#runtime/storage'
import type { SystemLog } from '#runtime/system'
import type { DatabaseOptions } from '#store/database'

const readOnlyUntil: Readonly<Record<string, string>> = {
  io: 'read only until the server is restarted',
  full: 'read only until there is free space on the disk',
}

export type LogMessages = ReturnType<typeof logMessages>

/** Log lines for modules that do not depend on the log. */
export function logMessages(log: Log) {
  const bug = (error: unknown, where: string) => log.error({ err: error }, `a bug: ${where}`)
  /** Returns a function that logs an error as a warning with this message. */
  const failed = (message: string) => (error: unknown) => log.warn({ err: error }, message)
  const missedEvents = failed('could not read the events that a client missed')
  const ofSystem: SystemLog = {
    bug,
    refusedTell: (problem, { to }) => log.warn({ err: problem, to }, 'a message between actors was refused'),
  }
  const ofLinks: LinksOptions['log'] = {
    gap: (tenant, device, after, seq) => log.info({ tenant, device, after, seq }, 'a device skipped sequence numbers'),
    refused: (tenant, problem) => log.warn({ tenant, err: problem }, 'a device was refused'),
    bug: (error) => bug(error, 'a frame'),
  }
  const ofDatabase: DatabaseOptions['log'] = {
    failed: (failure) => log.error({ err: failure }, 'a write failed: this database handle accepts no more writes'),
    readOnly: ({ code }) =>
      log.error({ reason: code }, readOnlyUntil[code] ?? 'read only until the store accepts writes again'),
    recovered: () => log.info({}, 'the store accepts writes again'),
    sweepFailed: failed('could not delete unused shapes; will try again in an hour'),
    stillFailing: (error) => log.error({ err: error }, 'the store could not be read again'),
  }
  return {
    bug,
    failed,
    catchUpFailed: (error: unknown) =>
      error instanceof StorageFailure ? missedEvents(error) : bug(error, 'catching up'),
    historyBegunAnew: () =>
      log.warn({}, 'the stored history does not belong to this store: it was set aside, and a new one begins'),
    ofSystem,
    ofLinks,
    ofDatabase,
  }
}
