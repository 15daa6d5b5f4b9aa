import type { z } from 'zod'
import { filterField } from '#api/filter-field'
import { type JsonSchema, noteReference, type SchemaNote } from '#api/json-schema'
import { booleanField, cursorField, depthField, deviceIdentifiersField, limitField, limitMax } from '#api/query-field'
import { ErrorBody, ValidationBody } from '#api/refusals'
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
import { ServiceSchema } from '#model/service-schema'
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
 * What readers have to know of a schema, and what zod cannot say of it: it checks those by code, as conditions and graphs.
 * With a `type` or `anyOf` a note stands for the whole of what zod would say.
 */
export const schemaNotes: ReadonlyMap<z.ZodType, SchemaNote> = new Map<z.ZodType, SchemaNote>([
  [DeviceIdentifier, said('Name of a device. Case does not matter; the upper-case form comes out.')],
  [ServiceIdentifier, said('Name of a service. One in the form of a UUID comes out in lower case.')],
  [PropertyId, said('Number of a property; `0x2000` in hexadecimal is the same as 8192.')],
  [FlakeAddress, said('Number of a device within its tenant, given when it is made and never again.')],
  [Timestamp, said('Unix milliseconds.')],
  [Offset, said("Place in the tenant's stream of events; 0 is before the first.")],
  [ServerMadeId, said('An id that the server made.')],
  [Sha256, said('SHA-256 in lower-case hexadecimal.')],
  [FirmwareVersion, said('A semantic version, as `1.4.2`.')],
  [ResourceIdentifier, said('One name for a thing across the API: `crn#<type>:<id>`.')],
  [Locale, said('A language, and perhaps a region: `de`, `de-CH`.')],
  [
    PropertyValue,
    {
      anyOf: [scalarValue, { type: 'array', items: scalarValue }],
      ...said('A value as JSON; 64-bit integers beyond ±(2⁵³−1) are decimal text, BINARY is Base64.'),
    },
  ],
  [PropertyTypeName, said('A data type in upper case.')],
  [Modifier, said('What a property allows, and is at the moment.')],
  [
    Property,
    said(
      '`tag` says what is there: `value` has a `value` once one was reported, `error` has an `error`, `removed` is said ' +
        'once, in an event, of what is declared no more.',
    ),
  ],
  [
    Properties,
    said(
      'By decimal id (with `hex=true` by `0x…`) as Property objects; with `raw=false` by name, values alone. A property that ' +
        'nothing was reported of has no value.',
    ),
  ],
  [DeviceEntry, said('`services` from depth 1, their `properties` from depth 2.')],
  [ServiceEntry, said('`devices` from depth 1, their `properties` from depth 2.')],
  [
    PropertyWrites,
    said(
      'Values by property: its id in digits or as `0x2000`, either with its type behind it (`0x2000.FLOAT`), or its name in ' +
        'the schema. The names of an enumeration are taken as values.',
    ),
  ],
  [DeviceStatus, said('`online`: linked and answering. `idle`: a ping is unanswered. `offline`: no link.')],
  [Meta, said('Any JSON object of at most 64 KiB and 16 levels, without the keys `__proto__` and `constructor`.')],
  [ServiceSchema, said('What a service means. Fields that are not listed here are kept as they came.')],
  [Grant, said('What is allowed on which devices and services; `*` stands for any. A grant reaches only its own.')],
  [
    Condition,
    said(
      'JsonLogic: a literal, a literal array, or an object of one operator with its arguments, as `{">":[{"var":"x"},30]}`.',
    ),
  ],
  [AlarmCondition, said('Over the properties of the service, by name or as `0x2000`; it has to read one by `var`.')],
  [
    RoleGrants,
    {
      description: 'Grants, or one grant directly.',
      anyOf: [
        closed({ grants: { type: 'array', items: noteReference('Grant'), maxItems: roleGrantsMax } }),
        noteReference('Grant'),
      ],
    },
  ],
  [
    Graph,
    {
      description: 'Without a cycle, in one piece: each node is reached from a trigger, nothing comes behind an email.',
      ...closed({
        nodes: { type: 'array', items: noteReference('GraphNode'), minItems: 1, maxItems: graphNodesMax },
        edges: {
          type: 'array',
          description: 'Pairs of ids, from what is reached first to what stands behind it.',
          items: { type: 'array', items: noteReference('ShortName'), minItems: 2, maxItems: 2 },
          maxItems: graphEdgesMax,
        },
      }),
    },
  ],
  [ErrorBody, { description: 'For people, but where it is in upper case.', examples: [{ error: 'Not Found' }] }],
  [
    ValidationBody,
    {
      description: '`path` is where in the body or the query, `""` for the whole body.',
      examples: [{ error: 'Validation Error', details: [{ path: 'updates.0.value', message: 'must be an integer' }] }],
    },
  ],
  // Lengths are those of characters, which zod counts in pieces.
  [Password, { minLength: passwordCharactersMin, maxLength: passwordCharactersMax }],
  [UserName, { ...said('Shown as it was given; case does not matter.'), maxLength: 64 }],
  [NewUserName, { ...said(`A user name, but for \`${anonymousName}\` in whatever case.`), maxLength: 64 }],
  [SubscriptionId, { pattern: '^[0-9A-HJ-NP-Za-km-z]{9,16}$' }],
  [TenantReference, said('A tenant, bare or as `crn#tenant:<id>`.')],
  [GroupReference, said('A group, by its id or as `crn#group:<id>`.')],
  [HostName, said('As it stands behind `https://`, with a port if only that one is meant.')],
  // Fields of queries are text on their way, and mean something else.
  [booleanField, { type: 'boolean' }],
  [depthField, { type: 'integer', minimum: 0 }],
  [indexField, { type: 'integer', minimum: 0, maximum: firmwareIndexMax }],
  [limitField, { type: 'integer', minimum: 1, maximum: limitMax }],
  [cursorField, said('From the `Link` of the page before.')],
  [deviceIdentifiersField, { type: 'array', items: noteReference('DeviceIdentifier'), maxItems: 10_000 }],
  [filterField, { type: 'string', contentMediaType: 'application/json' }],
])

function said(description: string): SchemaNote {
  return { description }
}

/** An object with all of these and nothing else. */
function closed(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}
