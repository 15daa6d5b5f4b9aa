import { isDeepStrictEqual } from 'node:util'
import { type Decisions, recordsWithoutEntry } from '#actors/record-actor'
import type { TenantCommands } from '#actors/tenant/commands'
import {
  type JsonNames,
  jsonNameRecord,
  jsonPublishedPrefix,
  schemaPrefix,
  type TenantState,
} from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { formatPropertyIdHex } from '#model/identifier'
import { Problem } from '#model/problem'
import {
  type PropertySchema,
  type ServiceSchema,
  schemaBytesMax,
  schemaNameCharactersMax,
  schemaPropertiesMax,
} from '#model/service-schema'
import { utf8BytesOf } from '#model/text'
import { answer, type Decision, record, refuse, type Turn } from '#runtime/actor'

/** Maximum number of schemas of one tenant: all are in memory, because reads by name need them. */
export const schemasMax = 10_000
/** Maximum length of all schemas of a tenant, as JSON text. */
export const schemaCharactersMax = 64 * 1024 * 1024

export const schemaDecisions = {
  put_schema: decidePutSchema,

  delete_schema(state, { service }, turn) {
    if (!state.schemas.has(service)) return refuse(new Problem('not_found'))
    return record([{ kind: 'schema_deleted', service, at: turn.now }], {
      records: [{ name: `${schemaPrefix}${service}`, value: null }],
    })
  },

  /** A new name gets the next id and keeps it, so values find their property even if the schema is edited or deleted. */
  add_json_names(state, { service, names }) {
    const known = state.jsonNames.get(service)?.ids
    const added = [...new Set(names)].filter((name) => !known?.has(name))
    let count = added.length
    for (const { ids } of state.jsonNames.values()) count += ids.size
    if (count > jsonNamesMax) return refuse(new Problem('conflict', `more than ${jsonNamesMax} names in JSON`))
    const next = firstPropId + (known?.size ?? 0)
    return recordsWithoutEntry(
      added.map((name, place) => ({ name: jsonNameRecord(service, next + place), value: name })),
    )
  },

  /** Adds the new names to the schema of the service. */
  publish_json_names(state, { service }, turn) {
    const names = state.jsonNames.get(service)
    if (!names || names.published === names.ids.size) return answer(undefined)
    const published = { name: `${jsonPublishedPrefix}${service}`, value: names.ids.size }
    const schema = extended(state.schemas.get(service) ?? { name: service, generated: true, properties: {} }, names)
    const put = schema && decidePutSchema(state, { service, schema }, turn)
    // If the new names do not fit into the schema or into the tenant's limit for schemas, the schema stays as it is: the
    // properties are then read by id.
    if (put?.type !== 'record') return recordsWithoutEntry([published])
    return record(put.events, { records: [...(put.records ?? []), published] })
  },
} satisfies Partial<Decisions<TenantState, TenantCommands>>

/** Contract 3.9. An unchanged schema causes no event. */
function decidePutSchema(
  state: TenantState,
  { service, schema }: TenantCommands['put_schema'],
  turn: Turn,
): Decision<Entry> {
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

/** The length of each schema as JSON text, cached because an edit needs it several times. Schemas are immutable. */
const charactersKnown = new WeakMap<ServiceSchema, number>()

export function charactersOf(schema: ServiceSchema): number {
  const known = charactersKnown.get(schema)
  if (known !== undefined) return known
  const characters = JSON.stringify(schema).length
  charactersKnown.set(schema, characters)
  return characters
}

/** Names in the JSON of devices that declare nothing. Contract 10. */

/** Maximum number of names of one tenant, in all services together. */
export const jsonNamesMax = 1_000
const firstPropId = 0x2000

/** Undefined if the schema would be too large. */
function extended(schema: ServiceSchema, { ids, published }: JsonNames): ServiceSchema | undefined {
  const properties = { ...schema.properties }
  const taken = new Set(Object.values(properties).map(({ name }) => name))
  for (const [name, propId] of [...ids].slice(published)) {
    const key = formatPropertyIdHex(propId)
    if (properties[key]) continue
    const suffix = ` (${key})`
    const own = taken.has(name) ? name.slice(0, schemaNameCharactersMax - suffix.length) + suffix : name
    if (taken.has(own)) continue
    taken.add(own)
    const property: PropertySchema = { name: own }
    properties[key] = property
  }
  const whole = { ...schema, properties }
  const isWithin =
    Object.keys(properties).length <= schemaPropertiesMax && utf8BytesOf(JSON.stringify(whole)) <= schemaBytesMax
  return isWithin ? whole : undefined
}
