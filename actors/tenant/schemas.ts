import { isDeepStrictEqual } from 'node:util'
import type { DeleteSchema, PutSchema } from '#actors/tenant/commands'
import { schemaPrefix, type TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { ServiceSchema } from '#model/service-schema'
import { type Decision, record, refuse, type Turn } from '#runtime/actor'

/** Maximum number of schemas of one tenant: all are in memory, because reads by name need them. */
export const schemasMax = 10_000
/** Maximum length of all schemas of a tenant, as JSON text. */
export const schemaCharactersMax = 64 * 1024 * 1024

/** Contract 3.9. An unchanged schema causes no event. */
export function decidePutSchema(state: TenantState, { service, schema }: PutSchema, turn: Turn): Decision<Entry> {
  const before = state.schemas.get(service)
  // Recorded, so that the answer waits for a commit: while the store fails, this state may still be rolled back.
  if (before && isDeepStrictEqual(before, schema)) return record([])
  if (!before && state.schemas.size >= schemasMax) {
    return refuse(new Problem('conflict', `a tenant has at most ${schemasMax} schemas`))
  }
  const characters = charactersOf(schema) - (before ? charactersOf(before) : 0)
  if (state.schemaCharacters + characters > schemaCharactersMax) {
    return refuse(new Problem('conflict', `the schemas of a tenant hold at most ${schemaCharactersMax} characters`))
  }
  return record([{ kind: 'schema_set', service, at: turn.now, isNew: !before, schema }], {
    records: [{ name: `${schemaPrefix}${service}`, value: schema }],
  })
}

export function decideDeleteSchema(state: TenantState, { service }: DeleteSchema, turn: Turn): Decision<Entry> {
  if (!state.schemas.has(service)) return refuse(new Problem('not_found'))
  return record([{ kind: 'schema_deleted', service, at: turn.now }], {
    records: [{ name: `${schemaPrefix}${service}`, value: null }],
  })
}

/** The length of each schema as JSON text, cached because an edit needs it several times. Schemas are immutable. */
const charactersKnown = new WeakMap<ServiceSchema, number>()

export function charactersOf(schema: ServiceSchema): number {
  const known = charactersKnown.get(schema)
  if (known !== undefined) return known
  const characters = JSON.stringify(schema).length
  charactersKnown.set(schema, characters)
  return characters
}
