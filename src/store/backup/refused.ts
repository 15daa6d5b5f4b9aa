/** Why a backup is not taken, made or brought back, and what to do, for people. */
export class BackupRefused extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'BackupRefused'
  }
}
