import type { AssemblyLog } from '#app/assembly-options'
import type { LinksOptions } from '#link/options'
import { StorageFailure } from '#runtime/storage'
import type { SystemLog } from '#runtime/system'
import type { DatabaseOptions } from '#store/database'

/** Log lines for modules that do not depend on the log. */
export class LogMessages {
  readonly #log: AssemblyLog

  constructor(log: AssemblyLog) {
    this.#log = log
  }

  readonly bug = (error: unknown, where: string): void => this.#log.error({ err: error }, `a bug: ${where}`)

  /** Returns a function that logs an error as a warning with this message. */
  failed(message: string): (error: unknown) => void {
    return (error) => this.#log.warn({ err: error }, message)
  }

  readonly catchUpFailed = (error: unknown): void => {
    if (error instanceof StorageFailure)
      this.#log.warn({ err: error }, 'could not read the events that a client missed')
    else this.bug(error, 'catching up')
  }

  readonly historyBegunAnew = (): void =>
    this.#log.warn({}, 'the stored history does not belong to this store: it was set aside, and a new one begins')

  get ofSystem(): SystemLog {
    return {
      bug: this.bug,
      refusedTell: (problem, tell) =>
        this.#log.warn({ err: problem, to: tell.to }, 'a message between actors was refused'),
    }
  }

  get ofLinks(): LinksOptions['log'] {
    return {
      gap: (tenant, device, after, seq) =>
        this.#log.info({ tenant, device, after, seq }, 'a device skipped sequence numbers'),
      refused: (tenant, problem) => this.#log.warn({ tenant, err: problem }, 'a device was refused'),
      bug: (error) => this.bug(error, 'a frame'),
    }
  }

  get ofDatabase(): DatabaseOptions['log'] {
    return {
      failed: (failure) =>
        this.#log.error({ err: failure }, 'a write failed: this database handle accepts no more writes'),
      readOnly: (failure) =>
        this.#log.error(
          { reason: failure.code },
          { io: 'read only until the server is restarted', full: 'read only until there is free space on the disk' }[
            failure.code as string
          ] ?? 'read only until the store accepts writes again',
        ),
      recovered: () => this.#log.info({}, 'the store accepts writes again'),
      sweepFailed: this.failed('could not delete unused shapes; will try again in an hour'),
      stillFailing: (error) => this.#log.error({ err: error }, 'the store could not be read again'),
    }
  }
}
