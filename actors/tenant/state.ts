import type { ServiceSchema } from '#model/service-schema'

/** A tenant: what its devices' services mean, and which addresses its devices have. */
export interface TenantState {
  readonly tenant: string
  /** By serviceIdentifier. */
  readonly schemas: Map<string, ServiceSchema>
  /** Of all schemas as JSON text. */
  schemaCharacters: number
  counters: TenantCounters
}

export interface TenantCounters {
  /** The last flakeAddress given; they are never given twice. */
  readonly lastFlakeAddress: number
  readonly devices: number
}

/** Names of records: `counters`, and one for each schema. */
export const countersRecord = 'counters'
const schemaPrefix = 'schema/'

export function schemaRecord(serviceIdentifier: string): string {
  return `${schemaPrefix}${serviceIdentifier}`
}

/** Undoes `schemaRecord`; undefined for a record of something else. */
export function serviceOfRecord(name: string): string | undefined {
  return name.startsWith(schemaPrefix) ? name.slice(schemaPrefix.length) : undefined
}
