import type { z } from 'zod'
import { ErrorBody, ValidationBody } from '#api/answers'
import {
  booleanField,
  cursorField,
  depthField,
  deviceIdentifiersField,
  filterField,
  limitField,
  limitMax,
} from '#api/fields'
import { type JsonSchema, noteReference, type SchemaNote } from '#api/json-schema'
import { DeviceEntry, Properties, ServiceEntry } from '#api/state-shape'
import { indexField } from '#api/update-projects'
import { AlarmCondition, Condition } from '#model/condition'
import { ResourceIdentifier } from '#model/crn'
import { Graph, graphEdgesMax, graphNodesMax } from '#model/graph'
import { GroupReference } from '#model/group'
import {
  DeviceIdentifier,
  FirmwareVersion,
  FlakeAddress,
  Offset,
  PropertyId,
  ServerMadeId,
  ServiceIdentifier,
  ServiceReference,
  Sha256,
  Timestamp,
} from '#model/identifier'
import { firmwareIndexMax } from '#model/link-message'
import { DeviceStatus, Meta } from '#model/meta'
import { Modifier, Property, PropertyTypeName } from '#model/property'
import { PropertyValue } from '#model/property-type'
import { PropertyWrites } from '#model/property-write'
import { RoleGrants, roleGrantsMax } from '#model/role'
import { Grant } from '#model/scope'
import { ServiceSchema, schemaNameCharactersMax } from '#model/service-schema'
import { Locale, SubscriptionId } from '#model/subscription'
import { HostName, TenantReference } from '#model/tenant'
import {
  anonymousName,
  NewUserName,
  Password,
  passwordCharactersMax,
  passwordCharactersMin,
  UserName,
} from '#model/user'

const scalarValue = { type: ['number', 'string', 'boolean'] }

/**
 * Additions to zod's JSON Schema: descriptions for readers, and types that zod checks by code, such as conditions and
 * graphs. With a `type` or `anyOf` a note replaces zod's whole schema.
 */
export const schemaNotes: ReadonlyMap<z.ZodType, SchemaNote> = new Map<z.ZodType, SchemaNote>([
  [DeviceIdentifier, note('Name of a device. Case does not matter; the result is in upper case.')],
  [ServiceIdentifier, note('Name of a service. A name in the form of a UUID becomes lower case.')],
  [
    ServiceReference,
    {
      type: 'string',
      minLength: 1,
      maxLength: schemaNameCharactersMax,
      description: 'A service, by its identifier or by the name of its schema. Answers have the identifier.',
    },
  ],
  [PropertyId, note('Number of a property; `0x2000` in hexadecimal is the same as 8192.')],
  [FlakeAddress, note('Number of a device within its tenant, assigned at its creation and never again.')],
  [Timestamp, note('Unix milliseconds.')],
  [Offset, note(`Position in the tenant's stream of events; 0 is before the first.`)],
  [ServerMadeId, note('An id that the server created.')],
  [Sha256, note('SHA-256 in lower-case hexadecimal.')],
  [FirmwareVersion, note('A semantic version, such as `1.4.2`.')],
  [ResourceIdentifier, note('The unique name of a resource in the API: `crn#<type>:<id>`.')],
  [Locale, note('A language with an optional region: `de`, `de-CH`.')],
  [
    PropertyValue,
    {
      anyOf: [scalarValue, { type: 'array', items: scalarValue }],
      ...note('A value as JSON; 64-bit integers beyond ±(2⁵³−1) are decimal text, BINARY is Base64.'),
    },
  ],
  [PropertyTypeName, note('A data type in upper case.')],
  [Modifier, note('The access that a property allows, and its present flags.')],
  [
    Property,
    note(
      '`tag` determines the other fields: `value` has a `value` after the first report, `error` has an ' +
        '`error`, `removed` comes once, in an event, for a property that is no longer declared.',
    ),
  ],
  [
    Properties,
    note(
      'Property objects by decimal id, or by `0x…` with `hex=true`. With `raw=false`: only the values, by ' +
        'name. A property without a report has no value.',
    ),
  ],
  [DeviceEntry, note('`services` from depth 1, their `properties` from depth 2.')],
  [ServiceEntry, note('`devices` from depth 1, their `properties` from depth 2.')],
  [
    PropertyWrites,
    note(
      'Values by property. A key is the id in digits or as `0x2000`, which the type may follow ' +
        '(`0x2000.FLOAT`), or the name in the schema. The names of an enumeration are accepted as values.',
    ),
  ],
  [DeviceStatus, note('`online`: connected and answering. `idle`: a ping is unanswered. `offline`: not connected.')],
  [Meta, note('Any JSON object of at most 64 KiB and 16 levels, without the keys `__proto__` and `constructor`.')],
  [
    ServiceSchema,
    note('Names, units and value names of a service. Fields that are not listed here are stored unchanged.'),
  ],
  [
    Grant,
    note(
      'Permissions on resources, for some devices and services; `*` means all. A grant only applies to its own devices and services.',
    ),
  ],
  [
    Condition,
    note(
      'JsonLogic: a literal, an array of conditions, or an object of one operator with its arguments, such as `{">":[{"var":"x"},30]}`.',
    ),
  ],
  [
    AlarmCondition,
    note('A condition over properties of the service, by name or as `0x2000`. It must read at least one by `var`.'),
  ],
  [
    RoleGrants,
    {
      description: 'Grants, or a single grant.',
      anyOf: [
        closed({ grants: { type: 'array', items: noteReference('Grant'), maxItems: roleGrantsMax } }),
        noteReference('Grant'),
      ],
    },
  ],
  [
    Graph,
    {
      description:
        'A connected graph without a cycle. Each node is reached from a trigger, and no edge leads to a trigger, or from an email or webhook.',
      ...closed({
        nodes: { type: 'array', items: noteReference('GraphNode'), minItems: 1, maxItems: graphNodesMax },
        edges: {
          type: 'array',
          description: 'Pairs of node ids: the earlier node, then the later one.',
          items: { type: 'array', items: noteReference('ShortName'), minItems: 2, maxItems: 2 },
          maxItems: graphEdgesMax,
        },
      }),
    },
  ],
  [
    ErrorBody,
    { description: 'A text for people, or a code in upper case for programs.', examples: [{ error: 'Not Found' }] },
  ],
  [
    ValidationBody,
    {
      description: '`path` is the position in the body or the query, `""` for the whole body.',
      examples: [{ error: 'Validation Error', details: [{ path: 'updates.0.value', message: 'must be an integer' }] }],
    },
  ],
  // Lengths are in characters; those that zod writes are in UTF-16 units.
  [Password, { minLength: passwordCharactersMin, maxLength: passwordCharactersMax }],
  [UserName, { ...note('Shown as it was entered; case does not matter.'), maxLength: 64 }],
  [NewUserName, { ...note(`A user name, except \`${anonymousName}\` in any case.`), maxLength: 64 }],
  [SubscriptionId, { pattern: '^[0-9A-HJ-NP-Za-km-z]{9,16}$' }],
  [TenantReference, note('A tenant, bare or as `crn#tenant:<id>`.')],
  [GroupReference, note('A group, by its id, as `crn#group:<id>`, or by its name.')],
  [HostName, note('As in a URL after `https://`. With a port, requests must have the same port.')],
  // Fields of queries are sent as text, and have another type.
  [booleanField, { type: 'boolean' }],
  [depthField, { type: 'integer', minimum: 0 }],
  [indexField, { type: 'integer', minimum: 0, maximum: firmwareIndexMax }],
  [limitField, { type: 'integer', minimum: 1, maximum: limitMax }],
  [cursorField, note('From the `Link` header of the previous page.')],
  [deviceIdentifiersField, { type: 'array', items: noteReference('DeviceIdentifier'), maxItems: 10_000 }],
  [filterField, { type: 'string', contentMediaType: 'application/json' }],
])

function note(description: string): SchemaNote {
  return { description }
}

/** An object with all of these properties and no others. */
function closed(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}
