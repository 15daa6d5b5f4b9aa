import type { ListKind } from '#client/list-kind'
import type { LiveMap } from '#client/live-map'
import type { Item } from '#client/routes'
import type { Schema } from '#client/state'
import type { EventOf, StreamEvent } from '#model/event'

/** What services mean, by `GET /schemas`. §2.4 */
export class SchemaList implements ListKind {
  readonly route = 'GET /schemas'
  readonly query = { depth: 1 }
  readonly firstPage = 50
  readonly types = ['SCHEMA_ADD', 'SCHEMA_UPDATE', 'SCHEMA_DELETE'] as const
  readonly #schemas: LiveMap<string, Schema>

  constructor(schemas: LiveMap<string, Schema>) {
    this.#schemas = schemas
  }

  keyOf(event: StreamEvent): string {
    return (event as EventOf<'SCHEMA_DELETE'>).serviceIdentifier
  }

  take(entries: readonly unknown[]) {
    const rows = entries as readonly Item<'GET /schemas'>[]
    for (const { serviceIdentifier, schema } of rows) if (schema) this.#schemas.set(serviceIdentifier, schema)
    return { keys: rows.map(({ serviceIdentifier }) => serviceIdentifier), weight: rows.length }
  }

  keepOnly(isThere: (key: string) => boolean): void {
    for (const key of [...this.#schemas.keys()]) if (!isThere(key)) this.#schemas.delete(key)
  }

  apply(event: StreamEvent): void {
    if (event.type === 'SCHEMA_DELETE') this.#schemas.delete(this.keyOf(event))
    else this.#schemas.set(this.keyOf(event), (event as EventOf<'SCHEMA_ADD'>).schema)
  }

  complete(isComplete: boolean): void {
    this.#schemas.complete(isComplete)
  }
}
