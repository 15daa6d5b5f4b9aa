import { z } from 'zod'
import { chapters } from '#api/chapters'
import {
  booleanField,
  cursorField,
  depthField,
  deviceIdentifiersField,
  filterField,
  limitField,
  limitMax,
} from '#api/fields'
import {
  type JsonSchema,
  noteReference,
  SchemaCollection,
  type SchemaCollectionOptions,
  type SchemaNote,
} from '#api/json-schema'
import * as answersApi from '#api/route-entry'
import * as stateApi from '#api/state-shape'
import { indexField } from '#api/update-projects'
import * as action from '#model/action'
import * as alarm from '#model/alarm'
import * as condition from '#model/condition'
import * as crn from '#model/crn'
import * as desired from '#model/desired'
import * as firmware from '#model/firmware'
import * as fn from '#model/function'
import * as graph from '#model/graph'
import * as group from '#model/group'
import * as identifier from '#model/identifier'
import * as linkMessage from '#model/link-message'
import * as meta from '#model/meta'
import * as property from '#model/property'
import * as propertyType from '#model/property-type'
import * as propertyWrite from '#model/property-write'
import * as release from '#model/release'
import * as role from '#model/role'
import * as rollout from '#model/rollout'
import * as scope from '#model/scope'
import * as serviceSchema from '#model/service-schema'
import * as subscription from '#model/subscription'
import * as template from '#model/template'
import * as tenant from '#model/tenant'
import * as user from '#model/user'

const scalarValue = { type: ['number', 'string', 'boolean'] }

/**
 * By the names of schemas, additions to zod's JSON Schema: descriptions for readers, and types that zod checks by code,
 * such as conditions and graphs. With a `type` or `anyOf` a note replaces zod's whole schema.
 */
const notes: Readonly<Record<string, SchemaNote>> = {
  DeviceIdentifier: 'Name of a device. Case does not matter; the result is in upper case.',
  ServiceIdentifier: 'Name of a service. A name in the form of a UUID becomes lower case.',
  ServiceReference: {
    type: 'string',
    minLength: 1,
    maxLength: serviceSchema.schemaNameCharactersMax,
    description: 'A service, by its identifier or by the name of its schema. Answers have the identifier.',
  },
  PropertyId: 'Number of a property; `0x2000` in hexadecimal is the same as 8192.',
  FlakeAddress: 'Number of a device within its tenant, assigned at its creation and never again.',
  Timestamp: 'Unix milliseconds.',
  Offset: `Position in the tenant's stream of events; 0 is before the first.`,
  ServerMadeId: 'An id that the server created.',
  Sha256: 'SHA-256 in lower-case hexadecimal.',
  FirmwareVersion: 'A semantic version, such as `1.4.2`.',
  ResourceIdentifier: 'The unique name of a resource in the API: `crn#<type>:<id>`.',
  Locale: 'A language with an optional region: `de`, `de-CH`.',
  PropertyValue: {
    anyOf: [scalarValue, { type: 'array', items: scalarValue }],
    description: 'A value as JSON; 64-bit integers beyond ±(2⁵³−1) are decimal text, BINARY is Base64.',
  },
  PropertyTypeName: 'A data type in upper case.',
  Modifier: 'The access that a property allows, and its present flags.',
  Property:
    '`tag` determines the other fields: `value` has a `value` after the first report, `error` has an ' +
    '`error`, `removed` comes once, in an event, for a property that is no longer declared.',
  Properties:
    'Property objects by decimal id, or by `0x…` with `hex=true`. With `raw=false`: only the values, by ' +
    'name. A property without a report has no value.',
  DeviceEntry: '`services` from depth 1, their `properties` from depth 2.',
  ServiceEntry: '`devices` from depth 1, their `properties` from depth 2.',
  PropertyWrites:
    'Values by property. A key is the id in digits or as `0x2000`, which the type may follow ' +
    '(`0x2000.FLOAT`), or the name in the schema. The names of an enumeration are accepted as values.',
  DeviceStatus: '`online`: connected and answering. `idle`: a ping is unanswered. `offline`: not connected.',
  Meta: 'Any JSON object of at most 64 KiB and 16 levels, without the keys `__proto__` and `constructor`.',
  ServiceSchema: 'Names, units and value names of a service. Fields that are not listed here are stored unchanged.',
  Grant:
    'Permissions on resources, for some devices and services; `*` means all. A grant only applies to its own devices and services.',
  Condition:
    'JsonLogic: a literal, an array of conditions, or an object of one operator with its arguments, such as `{">":[{"var":"x"},30]}`.',
  AlarmCondition:
    'A condition over properties of the service, by name or as `0x2000`. It must read at least one by `var`.',
  RoleGrants: {
    description: 'Grants, or a single grant.',
    anyOf: [
      closed({ grants: { type: 'array', items: noteReference('Grant'), maxItems: role.roleGrantsMax } }),
      noteReference('Grant'),
    ],
  },
  Graph: {
    description:
      'A connected graph without a cycle. Each node is reached from a trigger, and no edge leads to a trigger, or from an email or webhook.',
    ...closed({
      nodes: { type: 'array', items: noteReference('GraphNode'), minItems: 1, maxItems: graph.graphNodesMax },
      edges: {
        type: 'array',
        description: 'Pairs of node ids: the earlier node, then the later one.',
        items: { type: 'array', items: noteReference('ShortName'), minItems: 2, maxItems: 2 },
        maxItems: graph.graphEdgesMax,
      },
    }),
  },
  ErrorBody: {
    description: 'A text for people, or a code in upper case for programs.',
    examples: [{ error: 'Not Found' }],
  },
  ValidationBody: {
    description: '`path` is the position in the body or the query, `""` for the whole body.',
    examples: [{ error: 'Validation Error', details: [{ path: 'updates.0.value', message: 'must be an integer' }] }],
  },
  // Lengths are in characters; those that zod writes are in UTF-16 units.
  Password: { minLength: user.passwordCharactersMin, maxLength: user.passwordCharactersMax },
  UserName: { description: 'Shown as it was entered; case does not matter.', maxLength: 64 },
  NewUserName: { description: `A user name, except \`${user.anonymousName}\` in any case.`, maxLength: 64 },
  SubscriptionId: { pattern: '^[0-9A-HJ-NP-Za-km-z]{9,16}$' },
  TenantReference: 'A tenant, bare or as `crn#tenant:<id>`.',
  GroupReference: 'A group, by its id, as `crn#group:<id>`, or by its name.',
  HostName: 'As in a URL after `https://`. With a port, requests must have the same port.',
}

/** Fields of queries are sent as text, and have another type. */
const fieldNotes: readonly (readonly [z.ZodType, SchemaNote])[] = [
  [booleanField, { type: 'boolean' }],
  [depthField, { type: 'integer', minimum: 0 }],
  [indexField, { type: 'integer', minimum: 0, maximum: linkMessage.firmwareIndexMax }],
  [limitField, { type: 'integer', minimum: 1, maximum: limitMax }],
  [cursorField, 'From the `Link` header of the previous page.'],
  [deviceIdentifiersField, { type: 'array', items: noteReference('DeviceIdentifier'), maxItems: 10_000 }],
  [filterField, { type: 'string', contentMediaType: 'application/json' }],
]

/** An object with all of these properties and no others. */
function closed(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** Modules whose exported schemas have names. If a schema has two names, the first one counts. */
const modules: readonly object[] = [
  identifier,
  crn,
  propertyType,
  property,
  propertyWrite,
  serviceSchema,
  meta,
  condition,
  scope,
  role,
  user,
  tenant,
  group,
  alarm,
  graph,
  fn,
  template,
  subscription,
  action,
  desired,
  firmware,
  release,
  rollout,
  linkMessage,
  answersApi,
  stateApi,
  ...chapters.flatMap(({ modules }): readonly object[] => modules),
]

/**
 * The schemas by the names of their exports. Throws if two schemas share a name, because the document would show only
 * one of them.
 */
function namedSchemas(): ReadonlyMap<string, z.ZodType> {
  const named = new Map<string, z.ZodType>()
  for (const [name, value] of modules.flatMap((module) => Object.entries(module))) {
    // Fields of queries are described with their routes.
    if (!(value instanceof z.ZodType) || !/^[A-Z]/.test(name) || name.endsWith('Query')) continue
    const other = named.get(name)
    if (other && other !== value) throw new Error(`two schemas are named ${name}`)
    if (![...named.values()].includes(value)) named.set(name, value)
  }
  return named
}

/** The schemas of one document. */
export function documentSchemas(target: SchemaCollectionOptions['target']): SchemaCollection {
  const named = namedSchemas()
  const described = Object.entries(notes).map(([name, note]) => {
    const schema = named.get(name)
    if (!schema) throw new Error(`a note for the unknown schema ${name}`)
    return [schema, note] as const
  })
  return new SchemaCollection({ named, notes: new Map([...described, ...fieldNotes]), target })
}
