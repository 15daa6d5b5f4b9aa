/** The log of changes that users and API keys made or tried. Rows are stored as JSON text. Contract 12, Audit. */
export const auditIndex = 'audit'

/** A row of the log, as the API returns it. */
export interface AuditRow {
  /** Unix ms. */
  readonly at: number
  /** CRN of the user or key. */
  readonly user: string
  readonly name: string
  readonly address: string
  readonly method: string
  /** The path of the request, without its query. */
  readonly path: string
  readonly resourceIdentifier?: string
  readonly status: number
}
