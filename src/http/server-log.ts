/** The log of the server; a pino logger fits. */
export interface ServerLog {
  isLevelEnabled(level: 'debug'): boolean
  debug(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
