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
    if (error instanceof StorageFailure) this.#log.warn({ err: error }, 'what a dashboard missed could not be read')
    else this.bug(error, 'catching up')
  }

  get ofSystem(): SystemLog {
    return {
      bug: this.bug,
      refusedTell: (problem, tell) => this.#log.warn({ err: problem, to: tell.to }, 'a tell was refused'),
    }
  }

  get ofLinks(): LinksOptions['log'] {
    return {
      gap: (tenant, device, after, seq) => this.#log.info({ tenant, device, after, seq }, 'a device left out numbers'),
      refused: (tenant, problem) => this.#log.warn({ tenant, err: problem }, 'a device was not admitted'),
      bug: (error) => this.bug(error, 'a frame'),
    }
  }

  get ofDatabase(): DatabaseOptions['log'] {
    return {
      failed: (failure) => this.#log.error({ err: failure }, 'a write failed: nothing more is written on this handle'),
      readOnly: (failure) =>
        this.#log.error(
          { reason: failure.code },
          failure.code === 'io' ? 'read only until the process is started anew' : 'read only until there is room again',
        ),
      recovered: () => this.#log.info({}, 'the store takes writes again'),
      sweepFailed: this.failed('unused shapes were not deleted; tried again in an hour'),
      stillFailing: (error) => this.#log.error({ err: error }, 'the store could not be read again'),
    }
  }
}
